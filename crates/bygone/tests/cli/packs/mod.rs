//! Packs over tables like those they are for: filled around every bound, swept by the program, survivors compared.

mod mas;

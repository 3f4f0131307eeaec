//! What goes wrong in the middle of a sweep: connections that are cut, rows that cannot go, statements that take too
//! long. The rest goes on, and the report says what did not.

mod changed;
mod interrupted;
mod poison;
mod read_only;

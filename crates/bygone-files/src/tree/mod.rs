//! Directory trees: files swept by their age, by handles that no rename can lead astray.

//! What is wrong is refused with its own exit code, with its place and remedy, and nothing is removed.

mod command_line;
mod file;
mod neighbours;
mod source;

//! The file by which sweepers of a directory take turns.
//!
//! It lies in the directory that is swept, so whoever sweeps or stages there must know it for what it is: nobody's item.

/// Its name. Whose turn it is has it locked; it holds nothing.
pub const TURN_FILE: &str = ".bygone-turn";

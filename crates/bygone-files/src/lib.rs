//! Files that are past their time.
//!
//! Three kinds of sources, each swept by bygone's engine:
//!
//! - [`stage`]: a staging area, a directory that hands out files with a lifetime and knows when each of them ends;
//! - [`tree`]: a directory tree that exists already, swept by the age of its files;
//! - [`prefix`]: objects of a bucket, swept by their age or by the date in their key.
//!
//! [`key_date`] reads the dates that trees and prefixes have in their names.

pub mod key_date;
pub mod prefix;
pub mod stage;
pub mod tree;
mod turn;

pub use turn::TURN_FILE;

//! Files and objects that are past their time, against real servers and real directories.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod prefix;

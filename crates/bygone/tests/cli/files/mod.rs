//! Policies over files: directory trees, staging areas and buckets, by the program alone.

mod bucket;
mod init;
mod stage;
mod tree;
mod yard;

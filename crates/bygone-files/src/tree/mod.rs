//! Directory trees: files swept by their age, by handles that no rename can lead astray.
//!
//! A tree belongs to others: while it is swept they create, touch, move and remove. So nothing is done by path once the
//! root is open. Every directory is a handle that was opened below its parent without following links; a file is removed
//! by its name in such a handle, after its age was read again on a handle of its own.
//!
//! What goes: everything below the root that is no directory and no device node, is covered by the globs and by
//! `min_depth`, and whose stamp has passed `keep`; what the caps take on top, oldest first; and with `empty_dirs`
//! the directories that have become empty. What stays: what is locked or open, sockets that somebody listens on, files
//! with the sticky bit (their owner's way to say "keep"), what lies on another file system or behind a mount point.
//!
//! Limits, none of which can be had from the system:
//! - There is no "unlink this handle". Between the last look at a name and its removal lies about a microsecond in which
//!   somebody can put another file in its place; that is noticed afterwards, counted and logged.
//! - Open files are seen through `/proc`, as far as the processes there may be read, and as they were up to a second ago.
//! - Bytes are allocated bytes (as `du` counts), and are freed when the last link of a file goes.

mod cap;
mod census;
mod directory;
mod facts;
mod globs;
mod hands;
mod held;
mod judge;
mod links;
mod listing;
mod page;
mod policy;
mod removal;
mod root;
mod sockets;
mod stamp;
mod swaps;
mod target;
mod walk;

pub use policy::TreePolicy;
pub use stamp::Age;
pub use target::TreeTarget;

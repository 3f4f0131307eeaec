//! The program as a client of its own daemon, over a port and over a socket.

mod host;
mod leases;
mod looks;
mod lost;
mod queues;
mod stage;
mod tokens;

//! The API, over real sockets. Every answer is held against the OpenAPI document.

mod api;
mod ending;
mod events;
mod limits;
mod listeners;
mod openapi;
mod policies;
mod sites;
mod sweeps;
mod tokens;
mod watch;

//! The API, over real sockets. Every answer is held against the OpenAPI document.

pub(crate) mod api;
mod configuration;
mod ending;
mod events;
mod fuzz;
mod grounds;
mod leases;
mod limits;
mod listeners;
mod openapi;
mod policies;
mod routes;
mod sites;
mod sources;
mod stage;
mod sweeps;
pub(crate) mod tokens;
mod watch;

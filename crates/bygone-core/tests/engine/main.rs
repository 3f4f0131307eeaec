//! The loop, tried with targets that fail on purpose.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod accounts;
mod again;
mod budgets;
mod consent;
mod duty;
mod failures;
mod fuzz;
mod gates;
mod policies;
mod purity;
mod scripted;
mod wholes;
mod workers;

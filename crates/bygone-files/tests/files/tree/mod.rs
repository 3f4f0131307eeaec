//! Directory trees: what goes, what stays, and what others may do to a tree while it is swept.

mod caps;
mod conformance;
mod fuzz;
mod model;
mod mounts;
mod protection;
mod races;
mod refusals;
mod rights;
mod rules;
mod scene;
mod sizes;

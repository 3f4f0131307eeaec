//! Data that means harm: what stands in names, rows and replies gives no orders to terminals, databases or documents; and
//! what is secret stays so while everything is tried.

mod names;
mod secrets;
mod terminal;

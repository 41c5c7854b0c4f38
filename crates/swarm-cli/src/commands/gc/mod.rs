//! `swarm gc`: clearing away what crashes have left behind.

mod clear;
mod finds;

pub(super) use clear::{GcArgs, run};

//! `swarm gc`: removes what crashed processes left behind.

mod clear;
mod finds;
mod placeholders;
mod scratchpads;

pub(super) use clear::{GcArgs, run};

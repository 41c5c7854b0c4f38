//! `swarm gc`: removes what crashed processes left behind.

mod clear;
mod finds;

pub(super) use clear::{GcArgs, run};

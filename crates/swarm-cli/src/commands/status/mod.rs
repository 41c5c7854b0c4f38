//! `swarm status`.

mod gather;
mod past;
mod roster;
mod screen;
mod show;
mod text;

pub(super) use show::{StatusArgs, run};

//! `swarm status`.

mod gather;
mod screen;
mod show;
mod text;

pub(super) use show::run;

//! `swarm instructions`: which instruction files agents read.

mod run;

pub(super) use run::run;

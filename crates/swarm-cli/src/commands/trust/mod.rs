//! `swarm trust`: let a repository run what is its own.

mod run;

pub(super) use run::run;

//! `swarm trust`: let a repository run what is its own.

mod own;
mod run;

pub(in crate::commands) use own::find as own_of;
pub(super) use run::run;

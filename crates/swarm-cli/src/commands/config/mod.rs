//! `swarm config`.

mod list;

pub(super) use list::run;

//! `swarm log`: the journal.

mod show;
mod text;

pub(super) use show::{LogArgs, run};

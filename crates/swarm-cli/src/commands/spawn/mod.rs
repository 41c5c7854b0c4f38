//! `swarm spawn`.

mod args;
mod on_node;
mod run;

pub(crate) use args::SpawnArgs;
pub(super) use run::{run, run_next};

//! `swarm review`.

mod comments;
mod diff_lines;
mod run;

pub(super) use run::{ReviewArgs, run};

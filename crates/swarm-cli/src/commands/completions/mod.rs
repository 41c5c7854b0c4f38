//! `swarm completions`: the script for a shell and the candidates it requests.

mod attach;
mod offer;
mod show;

pub(crate) use attach::answer;
pub(super) use show::{CompletionsArgs, run};

//! `swarm completions`: the script for a shell, and what is offered when the shell asks.

mod attach;
mod offer;
mod show;

pub(crate) use attach::answer;
pub(super) use show::{CompletionsArgs, run};

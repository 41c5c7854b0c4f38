//! The commands.

mod acp;
mod acting;
mod agents;
mod argument_tips;
mod brief;
mod command;
mod compact;
mod completions;
mod config;
mod cost;
mod demo;
mod detach;
mod doctor;
mod editor;
mod gc;
mod hub;
mod inbox;
mod input_text;
mod instructions;
mod interrupt;
mod join;
mod journal;
mod json_schema;
mod lead;
mod man;
mod mcp;
mod members;
mod node;
mod outage;
mod pane;
mod pause;
mod peers;
mod processes;
mod requests;
mod resume;
mod review;
mod rights;
mod run;
mod runtime;
mod send;
mod spawn;
mod status;
mod stop;
mod task;
mod team;
mod trust;
mod typed_command;
mod watch;
mod worktree;

pub(crate) use argument_tips::with_tip;
pub(crate) use command::Args;
pub(crate) use completions::answer as answer_shell;

pub(crate) use acting::CommandActor;
pub(crate) use lead::{InputHistory, PaneQuestions};
pub(crate) use runtime::{EndSignals, runtime};
pub(crate) use typed_command::TypedCommands;

use runtime::{called_off_by_signals, own_thread_runtime, run_cancellable, run_until_ctrl_c};

#[cfg(test)]
use command::Command;
#[cfg(test)]
mod documented_commands_tests;
#[cfg(test)]
mod tests;

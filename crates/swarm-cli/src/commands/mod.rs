//! The commands.

mod acting;
mod agents;
mod brief;
mod command;
mod compact;
mod completions;
mod config;
mod demo;
mod doctor;
mod gc;
mod given;
mod inbox;
mod instructions;
mod journal;
mod lead;
mod man;
mod members;
mod misread;
mod pane;
mod pause;
mod processes;
mod requests;
mod resume;
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
mod watch;
mod worktree;

pub(crate) use command::Args;
pub(crate) use completions::answer as answer_shell;
pub(crate) use misread::{planned, with_tip};

pub(crate) use acting::Party;
pub(crate) use runtime::runtime;

use runtime::{called_off_by_signals, told_on_ctrl_c};

#[cfg(test)]
use command::Command;
#[cfg(test)]
mod shown;
#[cfg(test)]
mod tests;

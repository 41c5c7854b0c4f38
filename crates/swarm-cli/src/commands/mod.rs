//! The commands.

mod acting;
mod agents;
mod completions;
mod config;
mod demo;
mod dispatch;
mod doctor;
mod gc;
mod given;
mod inbox;
mod instructions;
mod journal;
mod man;
mod members;
mod pane;
mod pause;
mod processes;
mod requests;
mod resume;
mod run;
mod run_events;
mod runtime;
mod send;
mod spawn;
mod status;
mod stop;
mod task;
mod team;
mod trust;
mod typed_ahead;
mod watch;
mod worktree;

pub(crate) use completions::answer as answer_shell;
pub(crate) use dispatch::{run, run_alone};

pub(crate) use acting::Party;
pub(crate) use runtime::runtime;

use runtime::{called_off_by_signals, told_on_ctrl_c};

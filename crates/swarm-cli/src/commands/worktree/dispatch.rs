//! Which of the commands about work trees it is.

use std::process::ExitCode;

use super::{list, merge, remove};
use crate::app::App;
use crate::args::WorktreeCommand;
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App, command: &WorktreeCommand) -> Result<ExitCode, Failure> {
    match command {
        WorktreeCommand::List => list::run(app),
        WorktreeCommand::Remove(args) => remove::run(app, args),
        WorktreeCommand::Prune { dry_run } => remove::prune(app, *dry_run),
        WorktreeCommand::Merge(args) => merge::run(app, args),
    }
}

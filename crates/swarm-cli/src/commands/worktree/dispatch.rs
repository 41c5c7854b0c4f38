//! Arguments of `swarm worktree` and their dispatch.

use std::process::ExitCode;

use super::diff::WorktreeDiffArgs;
use super::merge::WorktreeMergeArgs;
use super::remove::WorktreeRemoveArgs;
use super::{diff, list, merge, remove};
use crate::app::App;
use crate::failure::Result;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum WorktreeCommand {
    /// List this repository's worktrees with owner, base, size and state.
    List,
    /// Remove a worktree and its branch if no work would be lost.
    Remove(WorktreeRemoveArgs),
    /// Remove all worktrees without unsaved work.
    #[command(after_help = "Examples:\n  swarm worktree prune --dry-run\n  swarm worktree prune")]
    Prune {
        /// Show which would be removed, without doing it.
        #[arg(long)]
        dry_run: bool,
    },
    /// Merge a worktree's branch into its base branch.
    Merge(WorktreeMergeArgs),
    /// Show the work in a worktree that its base branch does not have.
    Diff(WorktreeDiffArgs),
    /// List worktrees whose work conflicts with each other.
    #[command(after_help = "\
The lead tells both members while they work. Uncommitted changes do not count.

Examples:
  swarm worktree forecast")]
    Forecast,
}

pub(in crate::commands) fn run(app: &App, command: &WorktreeCommand) -> Result<ExitCode> {
    match command {
        WorktreeCommand::List => list::run(app),
        WorktreeCommand::Remove(args) => remove::run(app, args),
        WorktreeCommand::Prune { dry_run } => remove::prune(app, *dry_run),
        WorktreeCommand::Merge(args) => merge::run(app, args),
        WorktreeCommand::Diff(args) => diff::run(app, args),
        WorktreeCommand::Forecast => diff::forecast(app),
    }
}

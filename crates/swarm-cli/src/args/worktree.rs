//! `swarm worktree …`.

use clap::{Args, Subcommand};

/// What to do with work trees.
#[derive(Debug, Subcommand)]
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
}

/// A work tree to be removed.
#[derive(Debug, Args)]
#[command(after_help = "\
Fails if the worktree has uncommitted, unmerged or unpushed work, is in use, or cannot be checked by git.

Examples:
  swarm worktree remove alice
  swarm worktree remove alice --force   save its work, then remove it")]
pub(crate) struct WorktreeRemoveArgs {
    /// Name of the worktree.
    pub(crate) slug: String,
    /// Save its work and remove it.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Work to be merged.
#[derive(Debug, Args)]
#[command(after_help = "\
The merge is atomic: on a conflict the base branch is unchanged and the conflicting files are listed. A checkout with \
uncommitted changes is never modified.

Examples:
  swarm worktree merge alice
  swarm worktree merge --all")]
pub(crate) struct WorktreeMergeArgs {
    /// Name of the worktree.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) slug: Option<String>,
    /// Merge all worktrees that are not in use, one after another.
    #[arg(long)]
    pub(crate) all: bool,
}

/// The name of a work tree, of which the option may do without: so it takes what stands behind it, and a prompt that does
/// would be missed under another name.
pub(super) fn no_prompt(name: &str) -> Result<String, String> {
    if name.trim().contains(char::is_whitespace) {
        return Err("a worktree's name has no spaces; put the prompt before --worktree".to_owned());
    }
    Ok(name.to_owned())
}

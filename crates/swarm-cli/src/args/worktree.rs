//! `swarm worktree …`.

use clap::{Args, Subcommand};

/// What to do with work trees.
#[derive(Debug, Subcommand)]
pub(crate) enum WorktreeCommand {
    /// List the work trees of this repository: whose, where from, how large, and how they stand.
    List,
    /// Remove a work tree and its branch, if nothing would be lost.
    Remove(WorktreeRemoveArgs),
    /// Remove the work trees that hold nothing which is not elsewhere.
    #[command(after_help = "Examples:\n  swarm worktree prune --dry-run\n  swarm worktree prune")]
    Prune {
        /// Only say which.
        #[arg(long)]
        dry_run: bool,
    },
    /// Merge the branch of a work tree into the branch that it was made from.
    Merge(WorktreeMergeArgs),
}

/// A work tree to be removed.
#[derive(Debug, Args)]
#[command(after_help = "\
Refuses when something in it is not committed, merged or pushed, when somebody works in it, and when git cannot tell.

Examples:
  swarm worktree remove alice
  swarm worktree remove alice --force   save what it holds as a ref and a patch")]
pub(crate) struct WorktreeRemoveArgs {
    /// The name it goes by.
    pub(crate) slug: String,
    /// Save what it holds, and remove it all the same.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Work to be merged.
#[derive(Debug, Args)]
#[command(after_help = "\
The target changes as a whole or not at all. On a conflict it stays as it was and the files are named; a checkout with \
uncommitted changes is never touched.

Examples:
  swarm worktree merge alice
  swarm worktree merge --all")]
pub(crate) struct WorktreeMergeArgs {
    /// The name of the work tree.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) slug: Option<String>,
    /// All work trees in which nobody works, one after the other.
    #[arg(long)]
    pub(crate) all: bool,
}

/// The name of a work tree, of which the option may do without: so it takes what stands behind it, and a prompt that does
/// would be missed under another name.
pub(super) fn no_prompt(name: &str) -> Result<String, String> {
    if name.trim().contains(char::is_whitespace) {
        return Err(
            "a work tree's name has no spaces; let your prompt stand before --worktree".to_owned(),
        );
    }
    Ok(name.to_owned())
}

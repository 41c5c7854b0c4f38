//! `swarm trust`.

use std::path::PathBuf;

use clap::Args;

/// A repository to be trusted.
#[derive(Debug, Args)]
#[command(after_help = "\
A repository's own hooks, MCP servers and definitions run programs of whoever wrote them, as you. They wait until you \
trust it. Trust is for the place: what changes there later is trusted as well. Rules that forbid hold at once.

Examples:
  swarm trust                    trust the repository around this folder
  swarm trust ~/src/parser       trust another one
  swarm trust --list             which are trusted
  swarm trust --remove           no longer")]
pub(crate) struct TrustArgs {
    /// A folder in the repository [default: the present one].
    pub(crate) path: Option<PathBuf>,
    /// Trust it no longer.
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// List what is trusted.
    #[arg(long, conflicts_with = "path")]
    pub(crate) list: bool,
}

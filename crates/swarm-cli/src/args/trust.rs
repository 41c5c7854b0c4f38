//! `swarm trust`.

use std::path::PathBuf;

use clap::Args;

/// A repository to be trusted.
#[derive(Debug, Args)]
#[command(after_help = "\
A repository's hooks, MCP servers and agent definitions run with your permissions, so they are ignored until you trust \
the repository. Trust covers later changes too. Deny rules always apply.

Examples:
  swarm trust                    trust the current repository
  swarm trust ~/src/parser       trust another repository
  swarm trust --list             list trusted repositories
  swarm trust --remove           revoke trust")]
pub(crate) struct TrustArgs {
    /// Directory in the repository [default: the current directory].
    pub(crate) path: Option<PathBuf>,
    /// Revoke trust.
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// List trusted repositories.
    #[arg(long, conflicts_with = "path")]
    pub(crate) list: bool,
}

//! `swarm approve` and `swarm deny`.

use clap::Args;

/// A yes.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The request, as `swarm requests` shows it.
    pub(crate) id: String,
    /// Also take the suggested rules for the rest of the member's session.
    #[arg(long)]
    pub(crate) always: bool,
}

/// A no.
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The request, as `swarm requests` shows it.
    pub(crate) id: String,
    /// What the member's model is told.
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
}

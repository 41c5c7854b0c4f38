//! `swarm shutdown` and `swarm kill`.

use clap::Args;
use swarm_protocol::MemberName;

/// A member, or all of them.
#[derive(Debug, Args)]
pub(crate) struct Whom {
    /// The member.
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<MemberName>,
    /// Every member that swarm started.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

/// Members to be asked to stop.
#[derive(Debug, Args)]
pub(crate) struct ShutdownArgs {
    #[command(flatten)]
    pub(crate) whom: Whom,
    /// What the member is told.
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Seconds until a member that says nothing is ended.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// End it even if its agent refuses.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Members to be ended at once.
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    #[command(flatten)]
    pub(crate) whom: Whom,
}

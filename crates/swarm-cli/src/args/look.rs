//! Looking at a team: `swarm status`, `attach`, `peek`, `logs` and `log`.

use clap::Args;
use swarm_protocol::MemberName;

/// The state of a team.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Stay and show every change.
    #[arg(long)]
    pub(crate) watch: bool,
}

/// A pane to be brought before the user.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Whose pane; without a name the first that there is.
    pub(crate) name: Option<MemberName>,
}

/// The last lines of a pane.
#[derive(Debug, Args)]
pub(crate) struct PeekArgs {
    /// Whose pane.
    pub(crate) name: MemberName,
    /// How many lines; without a number what the pane shows.
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub(crate) lines: Option<usize>,
}

/// Everything that a member printed.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Whose output.
    pub(crate) name: MemberName,
    /// Go on until the member ends.
    #[arg(long)]
    pub(crate) follow: bool,
}

/// The journal of a team.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only what this member, or person, did.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Only what was sent or given to this member.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Only events of this type, such as `queued` or `task_changed`.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Go on with events as they come.
    #[arg(long)]
    pub(crate) follow: bool,
}

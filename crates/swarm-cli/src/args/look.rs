//! Looking at a team: `swarm status`, `attach`, `peek`, `logs` and `log`.

use clap::Args;
use swarm_protocol::MemberName;

/// The state of a team.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm status
  swarm status --watch                          until Ctrl-C
  swarm status --json | jq -r '.members[].name'")]
pub(crate) struct StatusArgs {
    /// Keep running and show every change.
    #[arg(long)]
    pub(crate) watch: bool,
}

/// A pane to be brought before the user.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm attach          the first pane
  swarm attach alice")]
pub(crate) struct AttachArgs {
    /// Member whose pane is shown [default: the first with a pane].
    pub(crate) name: Option<MemberName>,
}

/// The last lines of a pane.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm peek alice
  swarm peek alice -n 200")]
pub(crate) struct PeekArgs {
    /// Member whose pane is shown.
    pub(crate) name: MemberName,
    /// Number of lines, from the end [default: the visible pane].
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub(crate) lines: Option<usize>,
}

/// Everything that a member printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm logs alice            even after she has stopped
  swarm logs alice --follow")]
pub(crate) struct LogsArgs {
    /// Member whose output is printed.
    pub(crate) name: MemberName,
    /// Keep printing until the member stops.
    #[arg(long)]
    pub(crate) follow: bool,
}

/// The journal of a team.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm log --from alice --to bob
  swarm log --type task --follow")]
pub(crate) struct LogArgs {
    /// Only events caused by this member.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Only events addressed to this member.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Only events of this type (such as `queued` or `task_changed`) or kind (such as `task`).
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Keep printing new events.
    #[arg(long)]
    pub(crate) follow: bool,
}

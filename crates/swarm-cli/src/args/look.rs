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
    /// Stay and show every change.
    #[arg(long)]
    pub(crate) watch: bool,
}

/// A pane to be brought before the user.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm attach          the first pane that there is
  swarm attach alice")]
pub(crate) struct AttachArgs {
    /// The member whose pane it is [default: the first that has one].
    pub(crate) name: Option<MemberName>,
}

/// The last lines of a pane.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm peek alice
  swarm peek alice -n 200")]
pub(crate) struct PeekArgs {
    /// The member whose pane it is.
    pub(crate) name: MemberName,
    /// Lines, counted from the end [default: what the pane shows].
    #[arg(short = 'n', long = "lines", value_name = "N")]
    pub(crate) lines: Option<usize>,
}

/// Everything that a member printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm logs alice            also after she has ended
  swarm logs alice --follow")]
pub(crate) struct LogsArgs {
    /// The member whose output it is.
    pub(crate) name: MemberName,
    /// Go on until the member ends.
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
    /// Only what this member did.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Only what was sent or given to this member.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// Only events of this type (such as `queued` or `task_changed`) or kind (the word before the colon, such as `task`).
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Go on with events as they come.
    #[arg(long)]
    pub(crate) follow: bool,
}

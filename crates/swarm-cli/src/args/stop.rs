//! `swarm shutdown`, `kill`, `pause` and `continue`.

use std::str::FromStr;

use clap::Args;
use swarm_protocol::{AgentId, MemberName, NameError, TeamName};

/// A member as people name it: `NAME`, or its agent id `NAME@TEAM`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberWord {
    pub(crate) name: MemberName,
    pub(crate) team: Option<TeamName>,
}

impl FromStr for MemberWord {
    type Err = NameError;

    fn from_str(word: &str) -> Result<Self, NameError> {
        if word.contains('@') {
            let id: AgentId = word.parse()?;
            return Ok(Self {
                name: id.name,
                team: Some(id.team),
            });
        }
        Ok(Self {
            name: MemberName::parse(word)?,
            team: None,
        })
    }
}

/// A member, or all of them.
#[derive(Debug, Args)]
pub(crate) struct Whom {
    /// Member, as NAME or NAME@TEAM.
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<MemberWord>,
    /// All members that swarm started.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

/// Members to be asked to stop.
#[derive(Debug, Args)]
#[command(after_help = "\
The agent is asked and may refuse with a reason; then it continues and the exit code is 5. A member that does not \
respond within `stop.grace_s` is shut down. With --force, running model requests and commands are interrupted.

Examples:
  swarm shutdown alice --reason \"thank you\"
  swarm shutdown --all --timeout 60")]
pub(crate) struct ShutdownArgs {
    #[command(flatten)]
    pub(crate) whom: Whom,
    /// Reason, shown to the member.
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Seconds before an unresponsive member is terminated [default: setting `stop.grace_s` plus 2; 1.5 with --force].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Shut members down immediately, without asking their agents.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Members to be ended at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Running turns are cut off; use `swarm shutdown` for a graceful stop.

Examples:
  swarm kill bob
  swarm kill bob@parser
  swarm kill --all --team parser")]
pub(crate) struct KillArgs {
    #[command(flatten)]
    pub(crate) whom: Whom,
}

/// A member that is to take no turn.
#[derive(Debug, Args)]
#[command(after_help = "\
The current turn is finished first. Messages wait until `swarm continue`.

Examples:
  swarm pause alice --reason \"the branch is frozen\"
  swarm pause alice --wait --timeout 120")]
pub(crate) struct PauseArgs {
    /// Member to pause, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
    /// Reason, shown in its pane and in `swarm status`.
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Wait until its current turn is over.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Maximum wait in seconds [default: no limit].
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    pub(crate) timeout: Option<u64>,
}

/// A member that may take turns again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm continue alice")]
pub(crate) struct ContinueArgs {
    /// Paused member, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
}

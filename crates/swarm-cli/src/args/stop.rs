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
    /// The member, as NAME or NAME@TEAM.
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<MemberWord>,
    /// Every member that swarm started.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

/// Members to be asked to stop.
#[derive(Debug, Args)]
#[command(after_help = "\
The agent is asked and may refuse, with a reason: then the member goes on, and the exit code is 5. One that does not answer \
within `stop.grace_s` shuts down. With --force nobody is asked: a request to the model or a running command is interrupted.

Examples:
  swarm shutdown alice --reason \"thank you\"
  swarm shutdown --all --timeout 60")]
pub(crate) struct ShutdownArgs {
    #[command(flatten)]
    pub(crate) whom: Whom,
    /// Why; the member is told [default: no reason].
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Seconds until a member that does not answer is terminated [default: `stop.grace_s` of the settings and 2 more; 1.5 with --force].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Shut members down now, without asking their agents.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Members to be ended at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Nobody is asked and no turn is finished; `swarm shutdown` is the gentle way.

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
Its present turn is finished first. Its mail waits until `swarm continue`.

Examples:
  swarm pause alice --reason \"the branch is frozen\"
  swarm pause alice --wait --timeout 120")]
pub(crate) struct PauseArgs {
    /// The member that shall pause, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
    /// Why; its pane and `swarm status` show it [default: no reason].
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Return only when its present turn is over [default: return at once].
    #[arg(long)]
    pub(crate) wait: bool,
    /// Seconds to wait at most [default: as long as it takes].
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    pub(crate) timeout: Option<u64>,
}

/// A member that may take turns again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swarm continue alice")]
pub(crate) struct ContinueArgs {
    /// The member that is paused, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
}

//! The report of a run.

use serde::{Deserialize, Serialize};
use swarm_protocol::{ErrorKind, MemberName, Money, SessionId, TaskId, TaskState, TeamName, Usage};
use swarm_supervisor::LeftWorktree;
use swarm_team::CostSum;

/// Outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
pub enum Outcome {
    /// The lead has finished and every task is completed.
    Completed,
    /// The lead has finished but tasks failed.
    TasksFailed,
    /// The lead's own turn failed.
    LeadFailed(String),
    /// A hook of the user stopped the lead's turn (`continue: false`), for this reason.
    StoppedByHook(String),
    /// Tasks are open and all members are idle.
    Stalled,
    /// The time limit was reached.
    TimedOut,
    /// A person interrupted.
    Interrupted,
}

impl RunReport {
    /// Returns the kind of failure, if the run failed or its end could not be recorded.
    pub fn error_kind(&self) -> Option<ErrorKind> {
        let unrecorded = self.unrecorded.as_ref().map(|_| ErrorKind::TimedOut);
        self.outcome.error_kind().or(unrecorded)
    }

    pub(super) fn add_cost(&mut self, cost: &CostSum) {
        self.usd = cost.cost();
        self.unpriced_tokens = cost.unpriced_tokens;
    }
}

impl Outcome {
    pub(super) fn error_kind(&self) -> Option<ErrorKind> {
        match self {
            Outcome::Completed => None,
            Outcome::TasksFailed | Outcome::LeadFailed(_) | Outcome::Stalled => {
                Some(ErrorKind::AgentFailed)
            }
            Outcome::StoppedByHook(_) => Some(ErrorKind::Refused),
            Outcome::TimedOut => Some(ErrorKind::TimedOut),
            Outcome::Interrupted => Some(ErrorKind::Interrupted),
        }
    }

    /// Why the lead failed, in one line.
    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Outcome::LeadFailed(error) => error.lines().next().map(str::to_owned),
            _ => None,
        }
    }

    /// Returns the reason for `SessionEnd` hooks.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::TasksFailed => "tasks_failed",
            Outcome::LeadFailed(_) => "lead_failed",
            Outcome::StoppedByHook(_) => "stopped_by_hook",
            Outcome::Stalled => "stalled",
            Outcome::TimedOut => "timed_out",
            Outcome::Interrupted => "interrupted",
        }
    }

    /// One sentence for people, in the form of an error message.
    pub fn sentence(&self) -> String {
        match self {
            Outcome::Completed => "the lead has finished and every task is completed".to_owned(),
            Outcome::TasksFailed => "the lead has finished, but tasks failed".to_owned(),
            Outcome::LeadFailed(error) => format!("the lead's turn failed: {error}"),
            Outcome::StoppedByHook(why) => format!("a hook stopped the run: {why}"),
            Outcome::Stalled => {
                "the run stalled: all agents are idle, tasks are open, and the lead took no action"
                    .to_owned()
            }
            Outcome::TimedOut => {
                "the time limit was reached before the work was finished".to_owned()
            }
            Outcome::Interrupted => "interrupted".to_owned(),
        }
    }
}

/// One task at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLine {
    /// ID of the task.
    pub id: TaskId,
    /// Title of the task.
    pub subject: String,
    /// State of the task.
    pub state: TaskState,
    /// Owner of the task.
    pub owner: Option<String>,
    /// Result of the task.
    pub result: Option<String>,
}

/// One member at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberLine {
    /// The name of the member.
    pub name: MemberName,
    /// The outcome.
    pub end: String,
    /// Number of turns.
    pub turns: u64,
    /// Tokens used.
    pub usage: Usage,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none_left(tokens: &u64) -> bool {
    *tokens == 0
}

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The reason of a `Stop` hook that ended the lead's last turn (`continue: false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Final text of the lead.
    pub result: String,
    /// The result as JSON, if a schema was given and an output matched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<serde_json::Value>,
    /// Id of the lead's conversation, which `--resume` continues.
    pub session: SessionId,
    /// Full name of the lead's model at the end.
    #[serde(default)]
    pub model: String,
    /// The team, if there was one.
    pub team: Option<TeamName>,
    /// Tasks of the team.
    pub tasks: Vec<TaskLine>,
    /// Members of the team.
    pub members: Vec<MemberLine>,
    /// The members' worktrees that have work or are in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<LeftWorktree>,
    /// Why the end of the run is not recorded: another program holds a lock. The team's next
    /// program records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
    /// Tokens of lead and members together.
    pub usage: Usage,
    /// Cost of the run in dollars; `None` if no request had a price.
    pub usd: Option<Money>,
    /// Tokens of models without a price, which `usd` lacks.
    #[serde(default, skip_serializing_if = "is_none_left")]
    pub unpriced_tokens: u64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

//! Task files: one JSON object each, in Claude Code's format, ours under `metadata.swarm`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::surrogate::parse_mended;
use crate::{AgentId, MemberName, SpawnId, TaskId, UnixMs};

/// The status word on disk. A failed task is `pending` with `metadata.swarm.failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody works on it.
    Pending,
    /// Its owner works on it.
    InProgress,
    /// Done.
    Completed,
}

/// The state that people see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// To be done, nothing in its way.
    Pending,
    /// To be done after its blockers.
    Blocked,
    /// Its owner works on it.
    InProgress,
    /// Done.
    Completed,
    /// Given up after failed attempts.
    Failed,
}

impl TaskState {
    /// Whether nothing more will happen to the task by itself.
    pub fn is_terminal(self) -> bool {
        matches!(self, TaskState::Completed | TaskState::Failed)
    }

    /// The word that is shown.
    pub fn name(self) -> &'static str {
        match self {
            TaskState::Pending => "pending",
            TaskState::Blocked => "blocked",
            TaskState::InProgress => "in_progress",
            TaskState::Completed => "completed",
            TaskState::Failed => "failed",
        }
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its number; equals the file's stem.
    pub id: TaskId,
    /// Imperative title.
    pub subject: String,
    /// What is to be done.
    pub description: String,
    /// The title while it is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Name (or, by others, agent id) of the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Status word.
    pub status: TaskStatus,
    /// Tasks that wait for this one.
    pub blocks: Vec<TaskId>,
    /// Tasks that this one waits for; kept after they are completed.
    pub blocked_by: Vec<TaskId>,
    /// Free data; `swarm` is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Fields of others.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What swarm keeps under `metadata.swarm`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmTask {
    /// Raised by each write; a claim compares it.
    #[serde(default)]
    pub version: u64,
    /// Who claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<AgentId>,
    /// Which spawn of that member: a replaced namesake is not the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<UnixMs>,
    /// How many claims ended with the owner's death.
    #[serde(default)]
    pub attempt: u32,
    /// How the last attempt ended that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Set when the attempts are used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedTask>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Why a task was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTask {
    /// The last reason.
    pub reason: String,
    /// After how many attempts.
    pub attempts: u32,
}

/// A task to be made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTask {
    /// Imperative title.
    pub subject: String,
    /// What is to be done.
    #[serde(default)]
    pub description: String,
    /// The title while it is worked on.
    #[serde(default)]
    pub active_form: Option<String>,
    /// Who shall own it.
    #[serde(default)]
    pub owner: Option<MemberName>,
    /// Tasks that must be completed first.
    #[serde(default)]
    pub blocked_by: Vec<TaskId>,
    /// Tasks made in the same call that must be completed first, by their place in it, counted from 0.
    #[serde(skip)]
    pub after: Vec<usize>,
    /// Free data.
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
}

/// Why a file is not a task.
#[derive(Debug, thiserror::Error)]
pub enum TaskFileError {
    /// Not JSON, or fields missing or of the wrong type.
    #[error("not a task: {0}")]
    Json(#[from] serde_json::Error),
    /// `metadata.swarm` is of another shape.
    #[error("metadata.swarm: {0}")]
    Swarm(serde_json::Error),
}

impl Task {
    /// Parses a task file.
    ///
    /// # Errors
    /// [`TaskFileError`] when it is not a task or our own part is damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, TaskFileError> {
        // What is not UTF-8 fails in the slice parser, whose error says where.
        let task: Self = std::str::from_utf8(bytes)
            .map_or_else(|_| serde_json::from_slice(bytes), parse_mended)?;
        task.read_swarm()?;
        Ok(task)
    }

    fn read_swarm(&self) -> Result<SwarmTask, TaskFileError> {
        match self
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("swarm"))
        {
            Some(value) => SwarmTask::deserialize(value).map_err(TaskFileError::Swarm),
            None => Ok(SwarmTask::default()),
        }
    }

    /// Our own part; the default where another program made the task.
    pub fn swarm(&self) -> SwarmTask {
        self.read_swarm().unwrap_or_default()
    }

    /// Replaces our own part.
    pub fn set_swarm(&mut self, swarm: &SwarmTask) {
        // Numbers, strings and ids always serialize.
        let value = serde_json::to_value(swarm).unwrap_or_default();
        self.metadata
            .get_or_insert_default()
            .insert("swarm".to_owned(), value);
    }

    /// The state that people see, given which tasks are completed.
    pub fn state(&self, is_completed: impl Fn(TaskId) -> bool) -> TaskState {
        match self.status {
            TaskStatus::Completed => TaskState::Completed,
            TaskStatus::InProgress => TaskState::InProgress,
            TaskStatus::Pending if self.swarm().failed.is_some() => TaskState::Failed,
            TaskStatus::Pending if self.blocked_by.iter().any(|id| !is_completed(*id)) => {
                TaskState::Blocked
            }
            TaskStatus::Pending => TaskState::Pending,
        }
    }

    /// Whether `name` owns it, however the owner was written.
    pub fn is_owned_by(&self, agent: &AgentId) -> bool {
        let owner = self.owner.as_deref();
        let behind_name = owner.and_then(|owner| owner.strip_prefix(agent.name.as_str()));
        behind_name.is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('@') == Some(agent.team.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_known_by_its_name_or_its_whole_id() {
        let bob: AgentId = "bob@demo".parse().unwrap();
        for (owner, owns) in [
            ("bob", true),
            ("bob@demo", true),
            ("bob@other", false),
            ("bob@", false),
            ("bobby", false),
            ("bo", false),
            ("", false),
        ] {
            let task = format!(
                r#"{{"id":"1","subject":"s","description":"","status":"pending","owner":"{owner}","blocks":[],"blockedBy":[]}}"#
            );
            let task = Task::parse(task.as_bytes()).unwrap();
            assert_eq!(task.is_owned_by(&bob), owns, "{owner}");
        }
    }
}

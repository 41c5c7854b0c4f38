//! Task files: one JSON object each, in Claude Code's format, with swarm's fields under
//! `metadata.swarm`, such as checks: commands that must succeed before a task is completed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::surrogate::parse_repaired;
use crate::{AgentId, MemberName, SpawnId, TaskId, UnixMs, named_enum};

/// Status on disk. A failed task is `pending` with `metadata.swarm.failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
    Pending,
    /// Its owner is working on it.
    InProgress,
    /// Completed.
    Completed,
}

named_enum! {
    /// State as displayed.
    pub enum TaskState {
        /// Ready to be started.
        Pending = "pending",
        /// Waits for its blockers.
        Blocked = "blocked",
        /// Its owner is working on it.
        InProgress = "in_progress",
        /// Completed.
        Completed = "completed",
        /// Abandoned after failed attempts.
        Failed = "failed",
    }
}

impl TaskState {
    /// Returns whether the task is finished and does not change without intervention.
    pub fn is_terminal(self) -> bool {
        matches!(self, TaskState::Completed | TaskState::Failed)
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Task number, equal to the stem of the file name.
    pub id: TaskId,
    /// Title in the imperative.
    pub subject: String,
    /// Description of the work.
    pub description: String,
    /// Title while the task is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Name (or, in other programs, agent id) of the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Status word.
    pub status: TaskStatus,
    /// Tasks that this task blocks.
    pub blocks: Vec<TaskId>,
    /// Tasks that block this task; kept after they are completed.
    pub blocked_by: Vec<TaskId>,
    /// Arbitrary data; `swarm` belongs to this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The fields under `metadata.swarm`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmTask {
    /// Incremented by each write; a claim compares it.
    #[serde(default)]
    pub version: u64,
    /// Agent that claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<AgentId>,
    /// Spawn of that member; distinguishes the owner from a later member of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_id: Option<SpawnId>,
    /// Time of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<UnixMs>,
    /// Number of claims that ended with the death of the owner.
    #[serde(default)]
    pub attempt: u32,
    /// Note about the end of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Result of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Commands that must succeed before it is completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<TaskCheck>,
    /// Set when the attempts are exhausted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FailedTask>,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Reason for which a task was abandoned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTask {
    /// Reason of the last failure.
    pub reason: String,
    /// Number of attempts.
    pub attempts: u32,
}

/// A task to be created.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTask {
    /// Title in the imperative.
    pub subject: String,
    /// Description of the work.
    #[serde(default)]
    pub description: String,
    /// Title while the task is in progress.
    pub active_form: Option<String>,
    /// Owner of the task.
    pub owner: Option<MemberName>,
    /// Tasks that must be completed first.
    #[serde(default)]
    pub blocked_by: Vec<TaskId>,
    /// Tasks of the same call that must be completed first, by index from 0.
    #[serde(skip)]
    pub after: Vec<usize>,
    /// Arbitrary data.
    pub metadata: Option<Map<String, Value>>,
    /// Commands that must succeed before it is completed.
    #[serde(default)]
    pub checks: Vec<String>,
}

/// Reason for which a file is not a valid task.
#[derive(Debug, thiserror::Error)]
pub enum TaskFileError {
    /// Not JSON, or a field is missing or of the wrong type.
    #[error("not a task: {0}")]
    Json(#[from] serde_json::Error),
    /// `metadata.swarm` is malformed.
    #[error("metadata.swarm: {0}")]
    Swarm(serde_json::Error),
}

impl Task {
    /// Parses a task file.
    ///
    /// # Errors
    /// [`TaskFileError`] if it is not a task or `metadata.swarm` is malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self, TaskFileError> {
        // Invalid UTF-8 fails in the slice parser, whose error contains the position.
        let task: Self = std::str::from_utf8(bytes)
            .map_or_else(|_| serde_json::from_slice(bytes), parse_repaired)?;
        if let Some(mark) = task.swarm_value() {
            SwarmTask::deserialize(mark).map_err(TaskFileError::Swarm)?;
        }
        Ok(task)
    }

    fn swarm_value(&self) -> Option<&Value> {
        self.metadata.as_ref()?.get("swarm")
    }

    /// Returns the fields under `metadata.swarm`; the default if another program created the task.
    pub fn swarm(&self) -> SwarmTask {
        let mark = self.swarm_value().map(SwarmTask::deserialize);
        mark.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns its checks, without the other fields under `metadata.swarm`.
    pub fn checks(&self) -> Vec<TaskCheck> {
        let checks = self.swarm_value().and_then(|value| value.get("checks"));
        checks.map_or_else(Vec::new, |checks| {
            Vec::deserialize(checks).unwrap_or_default()
        })
    }

    /// Returns whether it was abandoned after failed attempts.
    pub fn has_failed(&self) -> bool {
        let failed = self.swarm_value().and_then(|value| value.get("failed"));
        failed.is_some_and(|failed| !failed.is_null())
    }

    /// Replaces the fields under `metadata.swarm`.
    pub fn set_swarm(&mut self, swarm: &SwarmTask) {
        // Numbers, strings and ids always serialize.
        let value = serde_json::to_value(swarm).unwrap_or_default();
        self.metadata
            .get_or_insert_default()
            .insert("swarm".to_owned(), value);
    }

    /// Returns the displayed state, given which tasks are completed.
    pub fn state(&self, is_completed: impl Fn(TaskId) -> bool) -> TaskState {
        match self.status {
            TaskStatus::Completed => TaskState::Completed,
            TaskStatus::InProgress => TaskState::InProgress,
            TaskStatus::Pending if self.has_failed() => TaskState::Failed,
            TaskStatus::Pending if self.blocked_by.iter().any(|id| !is_completed(*id)) => {
                TaskState::Blocked
            }
            TaskStatus::Pending => TaskState::Pending,
        }
    }

    /// Returns whether `agent` owns the task, whether the owner is written as a name or as an agent
    /// id.
    pub fn is_owned_by(&self, agent: &AgentId) -> bool {
        let owner = self.owner.as_deref();
        let behind_name = owner.and_then(|owner| owner.strip_prefix(agent.name.as_str()));
        behind_name.is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('@') == Some(agent.team.as_str())
        })
    }
}

/// A command that must succeed before its task is completed, and its last run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskCheck {
    /// The command line, run by bash in the owner's directory.
    pub command: String,
    /// Who set it: a member's name, or `person`.
    pub by: String,
    /// The last run; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CheckRun>,
}

impl TaskCheck {
    /// Returns whether the last run succeeded.
    pub fn has_passed(&self) -> bool {
        self.last.as_ref().is_some_and(CheckRun::has_passed)
    }
}

/// Returns why the result of a completed task is not verified; `None` if all its checks passed.
pub fn unverified(checks: &[TaskCheck]) -> Option<String> {
    if checks.is_empty() {
        return Some("it has no checks".to_owned());
    }
    let open = checks.iter().find(|check| !check.has_passed())?;
    let state = match &open.last {
        None => "did not run".to_owned(),
        Some(run) => run.result(),
    };
    Some(format!("its check `{}` {state}", open.command))
}

/// How a check ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckRun {
    /// When it ended.
    pub at: UnixMs,
    /// Exit code; absent if it was terminated by a signal or at its time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// End of its output.
    pub output: String,
}

impl CheckRun {
    /// Returns whether the command succeeded.
    pub fn has_passed(&self) -> bool {
        self.exit_code == Some(0)
    }

    /// Describes the result: `passed` or `failed with exit code 101`.
    pub fn result(&self) -> String {
        match self.exit_code {
            Some(0) => "passed".to_owned(),
            Some(code) => format!("failed with exit code {code}"),
            None => "was terminated".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_fields_are_read_like_all_of_them() {
        for mark in [
            "null",
            "{}",
            r#"{"checks":[],"failed":null}"#,
            r#"{"checks":[{"command":"true","by":"person"}],"failed":{"reason":"r","attempts":3}}"#,
        ] {
            let metadata = format!(r#"{{"swarm":{mark}}}"#);
            let mut task = Task::parse(br#"{"id":"1","subject":"s","description":"","status":"pending","blocks":[],"blockedBy":[]}"#).unwrap();
            task.metadata = serde_json::from_str(&metadata).unwrap();
            let all = task.swarm();
            assert_eq!(task.checks(), all.checks, "{mark}");
            assert_eq!(task.has_failed(), all.failed.is_some(), "{mark}");
        }
    }

    #[test]
    fn an_owner_is_recognized_by_name_or_agent_id() {
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

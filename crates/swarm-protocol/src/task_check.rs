//! Checks of a task: commands that must succeed before it is completed.

use serde::{Deserialize, Serialize};

use crate::UnixMs;

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

//! The notice that a task has a new owner.

use serde::{Deserialize, Serialize};

use crate::IsoTime;

/// `task_assignment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskAssignment {
    /// The task.
    pub task_id: String,
    /// Its title.
    pub subject: String,
    /// What is to be done.
    pub description: String,
    /// Who assigned it.
    pub assigned_by: String,
    /// When.
    pub timestamp: IsoTime,
}

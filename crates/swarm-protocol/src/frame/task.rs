//! Notification of a task assignment.

use serde::{Deserialize, Serialize};

use crate::IsoTime;

/// `task_assignment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskAssignment {
    /// Id of the task.
    pub task_id: String,
    /// Title of the task.
    pub subject: String,
    /// Description of the task.
    pub description: String,
    /// Name of the assigner.
    pub assigned_by: String,
    /// Time of the assignment.
    pub timestamp: IsoTime,
}

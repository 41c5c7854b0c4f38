//! Requests to the task list and its results.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};
use swarm_protocol::{
    AgentId, CheckRun, MemberName, PERSON, SpawnId, Task, TaskId, TaskState, TaskStatus, TeamName,
};

use crate::{BrokenFile, Result, StoreError};

/// The actor of a change. A member is identified by its agent ID and its spawn, so a replaced spawn
/// is a different actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The acting member.
    pub agent_id: AgentId,
    /// Its spawn; `None` for a person and for a lead in the shell.
    pub spawn_id: Option<SpawnId>,
    /// Whether the actor is a person at a terminal.
    pub person: bool,
    /// Whether the person forces a change of another member's task.
    pub force: bool,
    /// The member in whose name others are notified of the change. It is not notified itself.
    pub in_name_of: MemberName,
}

impl Actor {
    /// Creates the actor of a spawned member.
    pub fn member(team: &TeamName, name: MemberName, spawn_id: Option<SpawnId>) -> Self {
        Self {
            agent_id: AgentId::new(name.clone(), team.clone()),
            spawn_id,
            person: false,
            force: false,
            in_name_of: name,
        }
    }

    /// Creates the actor of a person, in the lead's name.
    pub fn person(team: &TeamName) -> Self {
        Self {
            person: true,
            ..Self::member(team, MemberName::lead(), None)
        }
    }

    /// Allows changing the tasks of other members.
    #[must_use]
    pub fn forced(mut self) -> Self {
        self.force = true;
        self
    }

    /// Notifies others in the name of another member.
    #[must_use]
    pub fn in_name_of(mut self, name: &MemberName) -> Self {
        self.in_name_of.clone_from(name);
        self
    }

    /// Returns the member's name.
    pub fn name(&self) -> &MemberName {
        &self.agent_id.name
    }

    /// Returns the name under which it sets checks: its own, or `person`.
    pub fn author(&self) -> &str {
        if self.person {
            PERSON
        } else {
            self.name().as_str()
        }
    }

    /// Returns whether it may reassign and release tasks of others.
    pub fn is_in_charge(&self) -> bool {
        self.person || self.name().is_lead()
    }
}

/// The task list.
#[derive(Debug, Clone, Default)]
pub struct TaskList {
    /// The tasks by number.
    pub tasks: Vec<Task>,
    /// Files in the directory that are not valid tasks.
    pub broken: Vec<BrokenFile>,
}

impl TaskList {
    /// Creates an empty list with room for this many tasks.
    pub(crate) fn with_capacity(tasks: usize) -> Self {
        Self {
            tasks: Vec::with_capacity(tasks),
            broken: Vec::new(),
        }
    }

    /// Returns whether there are neither tasks nor invalid files.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.broken.is_empty()
    }

    /// Returns a task by number.
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        let at = self.tasks.binary_search_by_key(&id, |task| task.id).ok()?;
        self.tasks.get(at)
    }

    /// Returns a task by number.
    ///
    /// # Errors
    /// [`StoreError::TaskNotFound`], or [`StoreError::Damaged`] if its file is invalid.
    pub(crate) fn require(&self, team: &TeamName, id: TaskId) -> Result<&Task> {
        if let Some(task) = self.get(id) {
            return Ok(task);
        }
        let stem = id.to_string();
        let is_its = |broken: &&BrokenFile| broken.path.file_stem() == Some(stem.as_ref());
        match self.broken.iter().find(is_its) {
            Some(broken) => Err(broken.clone().into()),
            None => Err(StoreError::TaskNotFound {
                team: team.clone(),
                id,
            }),
        }
    }

    /// Returns whether the task no longer blocks others: it is completed or deleted.
    pub fn is_settled(&self, id: TaskId) -> bool {
        self.get(id)
            .is_none_or(|task| task.status == TaskStatus::Completed)
    }

    /// Returns the displayed state of a task of this list.
    pub fn state(&self, task: &Task) -> TaskState {
        task.state(|id| self.is_settled(id))
    }
}

/// A change to a task. Fields that are `None` or empty are left unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskChange {
    /// New status word.
    pub status: Option<TaskStatus>,
    /// New title.
    pub subject: Option<String>,
    /// New description.
    pub description: Option<String>,
    /// New title in progress.
    pub active_form: Option<String>,
    /// New owner. To remove the owner, release the task.
    pub owner: Option<MemberName>,
    /// Tasks to be blocked by this one.
    pub add_blocks: Vec<TaskId>,
    /// Tasks that block this one.
    pub add_blocked_by: Vec<TaskId>,
    /// Metadata keys to set; the value `null` removes a key. `swarm` is reserved.
    pub metadata: Option<Map<String, Value>>,
    /// Result of the task.
    pub result: Option<String>,
    /// Runs of the task's checks, in their order. A task with checks is completed only by a change
    /// in which all of them have passed.
    pub check_runs: Vec<CheckRun>,
}

impl From<TaskStatus> for TaskChange {
    fn from(status: TaskStatus) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }
}

/// A change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusChange {
    /// State before the change.
    pub from: TaskState,
    /// State after the change.
    pub to: TaskState,
}

/// Result of an update.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskUpdated {
    /// The written task.
    pub task: Task,
    /// Tasks that are no longer blocked.
    pub unblocked: Vec<Task>,
    /// Set if the displayed state has changed.
    pub status_change: Option<StatusChange>,
    /// Names of the changed fields, as in the file.
    pub changed_fields: Vec<&'static str>,
}

/// A member that could not be notified of a changed task yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// The member.
    pub to: MemberName,
    /// Why, as a clause.
    pub why: String,
    /// Whether that was tried. Otherwise the process that changed the task was killed, or is about to.
    pub was_tried: bool,
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { to, why, .. } = self;
        write!(f, "{to} was not notified of a changed task: {why}")
    }
}

/// New contents of tasks, or `None` for deleted ones.
pub(crate) type Writes = BTreeMap<TaskId, Option<Task>>;

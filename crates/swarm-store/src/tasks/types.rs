//! What is asked of the task list, and what it answers.

use serde_json::{Map, Value};
use swarm_protocol::{AgentId, MemberName, SpawnId, Task, TaskId, TaskState, TaskStatus, TeamName};

use crate::BrokenFile;

/// Who acts on a task. A member is known by its agent id and its spawn: a replaced namesake is somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The member in whose name it is done.
    pub agent_id: AgentId,
    /// Which spawn of it; a person and a lead driven from the shell have none.
    pub spawn_id: Option<SpawnId>,
    /// Whether a person at a terminal does it.
    pub person: bool,
    /// Whether the person insists on changing another member's task.
    pub force: bool,
}

impl Actor {
    /// A member that was spawned.
    pub fn member(team: &TeamName, name: MemberName, spawn_id: Option<SpawnId>) -> Self {
        Self {
            agent_id: AgentId::new(name, team.clone()),
            spawn_id,
            person: false,
            force: false,
        }
    }

    /// A person, in the lead's name.
    pub fn person(team: &TeamName) -> Self {
        Self {
            person: true,
            ..Self::member(team, MemberName::lead(), None)
        }
    }

    /// The same, insisting.
    #[must_use]
    pub fn forced(mut self) -> Self {
        self.force = true;
        self
    }

    /// The member's name.
    pub fn name(&self) -> &MemberName {
        &self.agent_id.name
    }

    /// Whether it may dispose of tasks of others: assign them anew and take them back.
    pub fn is_in_charge(&self) -> bool {
        self.person || self.name().is_lead()
    }
}

/// The task list as it stands.
#[derive(Debug, Clone, Default)]
pub struct TaskList {
    /// The tasks by number.
    pub tasks: Vec<Task>,
    /// Files in the directory that should be tasks and are not.
    pub broken: Vec<BrokenFile>,
}

impl TaskList {
    /// Whether there is nothing that is, or should be, a task.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.broken.is_empty()
    }

    /// A task by number.
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        let at = self.tasks.binary_search_by_key(&id, |task| task.id).ok()?;
        self.tasks.get(at)
    }

    /// Whether nothing waits for this task any more: it is completed, or no longer there.
    pub fn is_settled(&self, id: TaskId) -> bool {
        self.get(id)
            .is_none_or(|task| task.status == TaskStatus::Completed)
    }

    /// The state of a task of this list, as people see it.
    pub fn state(&self, task: &Task) -> TaskState {
        task.state(|id| self.is_settled(id))
    }
}

/// What to change in a task. What is `None` or empty stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskChange {
    /// New status word.
    pub status: Option<TaskStatus>,
    /// New title.
    pub subject: Option<String>,
    /// New description.
    pub description: Option<String>,
    /// New title while it is worked on.
    pub active_form: Option<String>,
    /// New owner. To have none, release the task.
    pub owner: Option<MemberName>,
    /// Tasks that shall wait for this one.
    pub add_blocks: Vec<TaskId>,
    /// Tasks that this one shall wait for.
    pub add_blocked_by: Vec<TaskId>,
    /// Keys to set; a key with the value `null` is taken away. `swarm` is not the caller's to set.
    pub metadata: Option<Map<String, Value>>,
    /// What came out.
    pub result: Option<String>,
}

/// A change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusChange {
    /// Before.
    pub from: TaskState,
    /// After.
    pub to: TaskState,
}

/// What an update did.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskUpdated {
    /// The task as written.
    pub task: Task,
    /// Tasks that waited for this one alone and can be worked on.
    pub unblocked: Vec<Task>,
    /// Set when the state that people see has changed.
    pub status_change: Option<StatusChange>,
    /// Names of the fields that changed, as they stand in the file.
    pub changed_fields: Vec<&'static str>,
}

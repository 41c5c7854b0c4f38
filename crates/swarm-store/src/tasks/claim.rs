//! Claiming: compare and set under the task's lock.

use swarm_fs::Held;
use swarm_protocol::{Task, TaskId, TaskState, TaskStatus};

use super::redo::Writes;
use super::rules::{self, Holder};
use super::{Actor, TaskList};
use crate::team_files::TeamFiles;
use crate::{Result, StoreError};

impl TeamFiles<'_> {
    pub(crate) fn claim(&self, id: TaskId, by: &Actor) -> Result<Task> {
        self.with_list_lock(|held| {
            self.require_current(by)?;
            self.claim_held(held, id, by)
        })
    }

    pub(crate) fn claim_next(&self, by: &Actor) -> Result<Option<Task>> {
        self.with_list_lock(|held| {
            self.require_current(by)?;
            for id in candidates(&self.look_at_tasks()?, by) {
                match self.claim_held(held, id, by) {
                    // Another program, which knows nothing of our list lock, was faster.
                    Err(
                        StoreError::Taken { .. }
                        | StoreError::Blocked { .. }
                        | StoreError::TaskNotFound { .. }
                        | StoreError::TaskResolved { .. }
                        | StoreError::Damaged { .. },
                    ) => {}
                    claimed => return claimed.map(Some),
                }
            }
            Ok(None)
        })
    }

    fn claim_held(&self, held: &Held, id: TaskId, by: &Actor) -> Result<Task> {
        self.with_task_locks(held, &[id], || {
            let list = self.look_around(&[id])?;
            let before = self.require_task(&list, id)?;
            if !rules::is_claimable(&list, before, by)? {
                return Ok(before.clone());
            }
            let mut task = before.clone();
            rules::start(&mut task, &by.agent_id, by.spawn_id, self.now());
            rules::seal(&mut task, before);
            let writes = Writes::from([(id, Some(task.clone()))]);
            self.write_tasks(held, &writes)?;
            self.note_changes(&list, &writes, by.name().as_str());
            Ok(task)
        })
    }
}

/// What an actor may claim: its own tasks first, then nobody's, each by number.
fn candidates(list: &TaskList, by: &Actor) -> Vec<TaskId> {
    let free =
        |task: &&Task| task.status == TaskStatus::Pending && list.state(task) == TaskState::Pending;
    let held_by = |wanted: Holder| {
        let tasks = list.tasks.iter().filter(free);
        tasks
            .filter(move |task| rules::holder(task, by) == wanted)
            .map(|task| task.id)
    };
    held_by(Holder::Actor)
        .chain(held_by(Holder::Nobody))
        .collect()
}

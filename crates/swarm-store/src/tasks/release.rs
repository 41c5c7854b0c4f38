//! Releasing tasks, by hand or because their owner is gone.

use swarm_protocol::{AgentId, SpawnId, Task, TaskId, TaskStatus};

use super::{TaskList, rules};
use crate::Result;
use crate::file_team::FileTeam;

/// An owner whose tasks are released.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) owner: AgentId,
    pub(crate) spawn_id: Option<SpawnId>,
    /// Why its current work counts as a failed attempt; `None` if it does not.
    pub(crate) failed_because: Option<String>,
}

impl FileTeam {
    /// Releases the tasks of a departed owner and returns them. All under the list's lock: `first`
    /// receives the tasks before they change, and `then` is called afterwards.
    pub(crate) fn return_tasks(
        &self,
        returned: &Returned,
        first: impl FnOnce(&[TaskId]) -> Result<()>,
        then: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<TaskId>> {
        self.with_list_lock(|held| {
            let ids = held_by(&self.read_all_tasks()?, returned);
            self.with_task_locks(held, &ids, || {
                let list = self.read_all_tasks()?;
                let ids = held_by(&list, returned);
                first(&ids)?;
                let given_back = list.tasks.iter().filter(|task| ids.contains(&task.id));
                let writes = given_back
                    .map(|task| (task.id, Some(returned.give_back(task))))
                    .collect();
                self.write_tasks(held, &writes)?;
                self.note_changes(&list, &writes, "swarm");
                then()?;
                Ok(ids)
            })
        })
    }
}

impl Returned {
    fn give_back(&self, before: &Task) -> Task {
        let mut task = before.clone();
        let was_worked_on = before.status == TaskStatus::InProgress;
        rules::give_back(&mut task);
        if let Some(reason) = self.failed_because.as_deref().filter(|_| was_worked_on) {
            rules::count_attempt(&mut task, reason);
        }
        rules::seal(&mut task, before);
        task
    }
}

/// Returns the open tasks of an owner, without those claimed by a later spawn of the same name.
fn held_by(list: &TaskList, returned: &Returned) -> Vec<TaskId> {
    let owned = list.tasks.iter().filter(|task| {
        task.status != TaskStatus::Completed
            && task.is_owned_by(&returned.owner)
            && rules::claim_of(task, &returned.owner)
                .is_none_or(|spawn| Some(spawn) == returned.spawn_id)
    });
    owned.map(|task| task.id).collect()
}

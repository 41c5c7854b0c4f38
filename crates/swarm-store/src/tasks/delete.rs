//! Deleting a task and every edge to it.

use std::collections::BTreeSet;

use swarm_protocol::{Event, Task, TaskId, TaskStatus};

use super::notes::unblocked;
use super::redo::Writes;
use super::{Actor, TaskList, rules};
use crate::Result;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
    pub(crate) fn delete_task(&self, id: TaskId, by: &Actor) -> Result<Vec<Task>> {
        self.with_list_lock(|held| {
            self.require_current(by)?;
            let mut touched = neighbours(&self.look_at_tasks()?, id);
            touched.insert(id);
            let touched: Vec<TaskId> = touched.into_iter().collect();
            self.with_task_locks(held, &touched, || {
                let before = self.look_at_tasks()?;
                let task = self.require_task(&before, id)?;
                if task.status == TaskStatus::InProgress {
                    rules::require_charge(task, by)?;
                }
                let mut writes = Writes::from([(id, None)]);
                let mut after = TaskList::default();
                for old in before.tasks.iter().filter(|old| old.id != id) {
                    let mut new = old.clone();
                    new.blocks.retain(|other| *other != id);
                    new.blocked_by.retain(|other| *other != id);
                    if rules::seal(&mut new, old) {
                        writes.insert(new.id, Some(new.clone()));
                    }
                    after.tasks.push(new);
                }
                self.raise_mark(held, self.highest_given()?)?;
                self.write_tasks(held, &writes)?;
                self.note_changes(&before, &writes, by.name().as_str());
                self.record_done([Event::TaskDeleted {
                    task: id,
                    by: by.name().to_string(),
                }]);
                Ok(unblocked(&before, &after))
            })
        })
    }
}

/// The tasks that name this one in an edge.
fn neighbours(list: &TaskList, id: TaskId) -> BTreeSet<TaskId> {
    let named = list
        .tasks
        .iter()
        .filter(|task| task.blocks.contains(&id) || task.blocked_by.contains(&id));
    named.map(|task| task.id).collect()
}

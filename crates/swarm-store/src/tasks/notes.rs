//! What happens to tasks, as events.

use swarm_protocol::{Event, Task, TaskStatus};

use super::TaskList;
use crate::Result;
use crate::team_files::TeamFiles;

impl TeamFiles<'_> {
    /// Enters changes of state or owner. `list` is the list as it was before.
    pub(super) fn note_changes<'t>(
        &self,
        list: &TaskList,
        changes: impl IntoIterator<Item = (&'t Task, &'t Task)>,
        by: &str,
    ) -> Result<()> {
        let events = changes.into_iter().filter_map(|(before, after)| {
            let (from, to) = (list.state(before), list.state(after));
            let moved = from != to || before.owner != after.owner;
            moved.then(|| Event::TaskChanged {
                task: after.id,
                from,
                to,
                owner: after.owner.clone(),
                by: by.to_owned(),
            })
        });
        self.record_all(events)
    }
}

/// The tasks that could not be worked on in one list and can in the other.
pub(super) fn unblocked(before: &TaskList, after: &TaskList) -> Vec<Task> {
    use swarm_protocol::TaskState::{Blocked, Pending};
    let waiting = after.tasks.iter().filter(|task| {
        task.status == TaskStatus::Pending
            && after.state(task) == Pending
            && before
                .get(task.id)
                .is_some_and(|old| before.state(old) == Blocked)
    });
    waiting.cloned().collect()
}

//! Messages that changes of the task list send: about assigned and unblocked tasks. No I/O.

use serde::{Deserialize, Serialize};
use swarm_protocol::{
    ControlFrame, InboxEntry, Member, MemberName, MessageId, Task, TaskAssignment, TaskState,
    TaskStatus, unverified,
};

use super::{CurrentActor, TaskList};
use crate::Draft;

/// A message of a change of the task list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) to: MemberName,
    pub(crate) entry: InboxEntry,
}

impl CurrentActor<'_> {
    /// Notifies the owner of a task that was assigned to it. A blocked task is announced when it
    /// becomes unblocked.
    pub(super) fn assignment(&self, list: &TaskList, task: &Task) -> Option<Letter> {
        let owner = self.owner_of(task)?;
        let state = list.state(task);
        if state == TaskState::Blocked || state.is_terminal() {
            return None;
        }
        let by = &self.by.in_name_of;
        let frame = ControlFrame::TaskAssignment(TaskAssignment {
            task_id: task.id.to_string(),
            subject: task.subject.clone(),
            description: task.description.clone(),
            assigned_by: by.to_string(),
            timestamp: self.now.iso(),
        });
        self.letter(&owner.name, Draft::control(by.as_str(), &frame))
    }

    /// Notifies the owners of unblocked tasks, and the lead of those that have none.
    pub(super) fn unblocked(&self, list: &TaskList, tasks: &[Task]) -> Vec<Letter> {
        let letter = |task: &Task| {
            let (id, subject) = (task.id, &task.subject);
            let (to, news) = match self.owner_of(task) {
                Some(owner) => (
                    owner,
                    format!(
                        "Task #{id} ({subject}) is yours and no longer blocked: start on it.\n{}",
                        task.description
                    ),
                ),
                None => (
                    self.config.member(&MemberName::lead())?,
                    format!(
                        "Task #{id} ({subject}) is no longer blocked and has no owner: assign it with TaskUpdate."
                    ),
                ),
            };
            let text = news + &foundations(list, task);
            self.letter(&to.name, Draft::system(text).summarized())
        };
        tasks.iter().filter_map(letter).collect()
    }

    fn owner_of(&self, task: &Task) -> Option<&Member> {
        let mut members = self.config.members.iter();
        members.find(|member| task.is_owned_by(&member.id_in(self.team)))
    }

    /// Nobody is notified of what was done in its own name.
    fn letter(&self, to: &MemberName, draft: Draft) -> Option<Letter> {
        (*to != self.by.in_name_of).then(|| Letter {
            to: to.clone(),
            entry: draft.into_entry(MessageId::random(), self.now),
        })
    }
}

/// Lists the tasks that a task builds on, with their results and whether checks have verified them.
fn foundations(list: &TaskList, task: &Task) -> String {
    let before = list.tasks.iter();
    let before = before.filter(|one| task.blocked_by.contains(&one.id));
    let completed = before.filter(|one| one.status == TaskStatus::Completed);
    let line = |one: &Task| {
        let facts = one.swarm();
        let verified = unverified(&facts.checks).map_or_else(
            || "verified by its checks".to_owned(),
            |why| format!("UNVERIFIED, {why}: check its result before you rely on it"),
        );
        let result = facts.result.map(|result| format!(" Its result: {result}"));
        let (id, subject) = (one.id, &one.subject);
        let result = result.unwrap_or_default();
        format!("\nIt builds on #{id} ({subject}), {verified}.{result}")
    };
    completed.map(line).collect()
}

//! A teammate's tasks at the end of its turn: results, reminders, and reports to the lead.

use std::collections::HashSet;
use std::sync::Arc;

use swarm_agent::Injected;
use swarm_permissions::HandoffScan;
use swarm_protocol::{
    AgentEvent, Event, SYSTEM_SENDER, Task, TaskId, TaskState, TaskStatus, task_numbers,
};
use swarm_store::{Cursor, StoreError, TaskChange, Team};
use swarm_team::MemberContext;

/// Maximum bytes of a result taken from the text of a turn.
const RESULT_BYTES: usize = 4 * 1024;

/// Follows the tasks that this spawn has in progress.
#[derive(Debug)]
pub(crate) struct TaskFollowUp {
    context: Arc<MemberContext>,
    team: Arc<dyn Team>,
    /// Whether the model is reminded of them.
    remind: bool,
    reminded: HashSet<TaskId>,
    /// Tasks reported to the lead.
    flagged: HashSet<TaskId>,
    /// End of the journal when the current turn began; `None` between turns.
    began: Option<Cursor>,
}

impl TaskFollowUp {
    pub(crate) fn new(context: Arc<MemberContext>, team: Arc<dyn Team>, remind: bool) -> Self {
        Self {
            context,
            team,
            remind,
            reminded: HashSet::new(),
            flagged: HashSet::new(),
            began: None,
        }
    }

    /// Records the end of the journal before a turn does anything. A resumed turn has begun
    /// already.
    pub(crate) async fn turn_begins(&mut self) {
        if self.began.is_none() {
            self.began = Some(self.team.journal_end().await.unwrap_or_default());
        }
    }

    /// Handles the end of a turn. Its final text, if any, becomes the result of the tasks that it
    /// completed without a result: models that know the tool from Claude Code do not know that
    /// field.
    pub(crate) async fn turn_ends(&mut self, text: Option<&str>) {
        let began = self.began.take();
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        let (Some(began), Some(text)) = (began, text) else {
            return;
        };
        if let Err(error) = self.set_results(text, began).await {
            tracing::warn!(member = %self.context.name, %error, "results not set");
        }
    }

    /// The tasks that this spawn has in progress.
    pub(crate) async fn open(&mut self) -> Vec<Task> {
        let open = match self.own(TaskStatus::InProgress).await {
            Ok(open) => open,
            Err(error) => {
                tracing::warn!(member = %self.context.name, %error, "cannot read the tasks");
                Vec::new()
            }
        };
        let is_open = |id: &TaskId| open.iter().any(|task| task.id == *id);
        // A task that is resumed later may be forgotten again.
        self.reminded.retain(is_open);
        self.flagged.retain(is_open);
        open
    }

    async fn own(&self, status: TaskStatus) -> Result<Vec<Task>, StoreError> {
        let agent = self.context.actor(self.team.name()).agent_id;
        let mut tasks = self.team.tasks().await?.tasks;
        tasks.retain(|task| {
            let spawn = task.swarm().spawn_id;
            task.status == status
                && task.is_owned_by(&agent)
                && spawn.is_none_or(|spawn| spawn == self.context.spawn_id)
        });
        Ok(tasks)
    }

    async fn set_results(&self, text: &str, began: Cursor) -> Result<(), StoreError> {
        let completed = self.completed_since(began).await?;
        if completed.is_empty() {
            return Ok(());
        }
        let mut done = self.own(TaskStatus::Completed).await?;
        done.retain(|task| task.swarm().result.is_none() && completed.contains(&task.id));
        for task in done {
            let end = text.floor_char_boundary(RESULT_BYTES);
            let change = TaskChange {
                result: Some(text[..end].to_owned()),
                ..TaskChange::default()
            };
            let actor = self.context.actor(self.team.name());
            self.team.update_task(&task.id, change, &actor).await?;
        }
        Ok(())
    }

    /// The tasks that anyone completed since this position of the journal.
    async fn completed_since(&self, began: Cursor) -> Result<HashSet<TaskId>, StoreError> {
        let events = self.team.events_from(began).await?.entries;
        let completed = events.into_iter().filter_map(|entry| match entry.event {
            Event::TaskChanged { task, from, to, .. } if from != to => {
                (to == TaskState::Completed).then_some(task)
            }
            _ => None,
        });
        Ok(completed.collect())
    }

    /// A reminder of forgotten tasks, once for each task.
    pub(crate) fn reminder(&mut self, open: &[Task]) -> Option<Injected> {
        let forgotten: Vec<&Task> = open
            .iter()
            .filter(|task| self.remind && !self.reminded.contains(&task.id))
            .collect();
        if forgotten.is_empty() {
            return None;
        }
        let text = reminder(&forgotten, self.context.handoff_scan());
        self.reminded.extend(forgotten.iter().map(|task| task.id));
        self.context.emit(AgentEvent::MailIn {
            from: SYSTEM_SENDER.to_owned(),
            color: None,
            line: format!("{} still in progress", names(open)),
            more: None,
        });
        Some(Injected::system(&text))
    }

    /// Returns the open tasks to report to the lead, once for each.
    pub(crate) fn flag(&mut self, open: &[Task]) -> Vec<TaskId> {
        open.iter()
            .map(|task| task.id)
            .filter(|id| self.flagged.insert(*id))
            .collect()
    }
}

/// The numbers of tasks, such as `#1, #3`.
pub(crate) fn names(tasks: &[Task]) -> String {
    task_numbers(tasks.iter().map(|task| task.id))
}

fn reminder(forgotten: &[&Task], scan: HandoffScan) -> String {
    let lines: Vec<String> = forgotten
        .iter()
        .map(|task| format!("- #{}: {}", task.id, scan.checked(&task.subject)))
        .collect();
    format!(
        "You have ended your turn, and this is still in progress in your name:\n{}\n\
         If it is done, complete it with TaskUpdate: status completed, and what came out as `result`. If you cannot go \
         on with it, give it back: status pending. If it has to stay open, say in one sentence what it waits for. Then \
         end your turn; you are not reminded of it again.",
        lines.join("\n")
    )
}

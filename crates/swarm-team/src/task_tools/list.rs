//! `TaskList`.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_permissions::HandoffScan;
use swarm_protocol::{Task, ToolKind, task_numbers};
use swarm_store::TaskList as StoredTasks;
use swarm_tools::{NoParameters, ToolContext, ToolOutput, TypedTool, prompt};

use crate::MemberContext;

#[derive(Debug)]
pub(super) struct TaskList(pub(super) Arc<MemberContext>);

#[async_trait]
impl TypedTool for TaskList {
    type Parameters = NoParameters;
    const NAME: &'static str = "TaskList";
    const PROMPT: &'static str = prompt!("tools/TaskList");
    const KIND: ToolKind = ToolKind::Team;
    const READ_ONLY: bool = true;

    async fn call(&self, _input: NoParameters, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        let list = match self.0.team() {
            Some(team) => team.tasks().await.map_err(|error| error.to_string())?,
            None => StoredTasks::default(),
        };
        if list.tasks.is_empty() {
            return Ok(ToolOutput::ok("No tasks found", "no tasks"));
        }
        let lines: Vec<String> = list
            .tasks
            .iter()
            .map(|task| line(task, &list, self.0.handoff_scan()))
            .collect();
        let count = format!("{} tasks", lines.len());
        Ok(ToolOutput::ok(lines.join("\n"), count))
    }
}

fn line(task: &Task, list: &StoredTasks, scan: HandoffScan) -> String {
    let owner = task
        .owner
        .as_ref()
        .map_or_else(String::new, |owner| format!(" ({owner})"));
    let mut blocked = task_numbers(task.blocked_by.iter().filter(|id| !list.is_settled(**id)));
    if !blocked.is_empty() {
        blocked = format!(" [blocked by {blocked}]");
    }
    format!(
        "#{} [{}] {}{owner}{blocked}",
        task.id,
        list.state(task).name(),
        scan.checked(&task.subject)
    )
}

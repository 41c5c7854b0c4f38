//! `TaskList`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use swarm_protocol::{Task, ToolKind, task_numbers};
use swarm_store::TaskList as StoredTasks;
use swarm_tools::{NoParameters, Tool, ToolContext, ToolOutput, parse, prompt, schema};

use crate::MemberContext;

#[derive(Debug)]
pub(super) struct TaskList(pub(super) Arc<MemberContext>);

#[async_trait]
impl Tool for TaskList {
    fn name(&self) -> &'static str {
        "TaskList"
    }

    fn description(&self) -> String {
        prompt!("tools/TaskList").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<NoParameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        true
    }

    fn one_line(&self, _input: &Value) -> String {
        "TaskList".to_owned()
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        if let Err(why) = parse::<NoParameters>(self.name(), input) {
            return ToolOutput::error(why);
        }
        let Some(team) = self.0.team() else {
            return ToolOutput::ok("No tasks found", "no tasks");
        };
        let list = match team.tasks().await {
            Ok(list) => list,
            Err(error) => return ToolOutput::error(error.to_string()),
        };
        if list.tasks.is_empty() {
            return ToolOutput::ok("No tasks found", "no tasks");
        }
        let lines: Vec<String> = list.tasks.iter().map(|task| line(task, &list)).collect();
        ToolOutput::ok(lines.join("\n"), format!("{} tasks", list.tasks.len()))
    }
}

fn line(task: &Task, list: &StoredTasks) -> String {
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
        task.subject
    )
}

//! `TaskGet`.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::{TaskId, ToolKind, task_numbers};
use swarm_store::{StoreError, Team};
use swarm_tools::{Tool, ToolContext, ToolOutput, parse, prompt, schema};

use super::checks::named_task;
use crate::{MemberContext, check_line};

#[derive(Debug)]
pub(super) struct TaskGet(pub(super) Arc<MemberContext>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    /// Number of the task
    #[schemars(with = "String")]
    task_id: TaskId,
}

#[async_trait]
impl Tool for TaskGet {
    fn name(&self) -> &'static str {
        "TaskGet"
    }

    fn description(&self) -> String {
        prompt!("tools/TaskGet").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Input>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        true
    }

    fn one_line(&self, input: &Value) -> String {
        format!("TaskGet #{}", named_task(input))
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        let input: Input = match parse("TaskGet", input) {
            Ok(input) => input,
            Err(why) => return ToolOutput::error(why),
        };
        let Some(team) = self.0.team() else {
            return ToolOutput::error("there is no team yet, and so no task list");
        };
        match describe(&*team, &input.task_id).await {
            Ok(text) => ToolOutput::ok(text, "ok"),
            Err(error) => ToolOutput::error(error.to_string()),
        }
    }
}

async fn describe(team: &dyn Team, id: &TaskId) -> Result<String, StoreError> {
    let task = &team.task(id).await?;
    let list = team.tasks().await?;
    let mut lines = vec![
        format!("Task #{}: {}", task.id, task.subject),
        format!("Status: {}", list.state(task).name()),
        format!("Description: {}", task.description),
    ];
    if let Some(owner) = &task.owner {
        lines.push(format!("Owner: {owner}"));
    }
    if !task.blocked_by.is_empty() {
        lines.push(format!("Blocked by: {}", task_numbers(&task.blocked_by)));
    }
    if !task.blocks.is_empty() {
        lines.push(format!("Blocks: {}", task_numbers(&task.blocks)));
    }
    for check in &task.swarm().checks {
        lines.push(format!("Check: {}", check_line(check)));
    }
    if let Some(result) = task.swarm().result {
        lines.push(format!("Result: {result}"));
    }
    if let Some(failed) = task.swarm().failed {
        lines.push(format!(
            "Failed after {} attempts: {}",
            failed.attempts, failed.reason
        ));
    }
    Ok(lines.join("\n"))
}

//! `TaskGet`.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::{TaskId, ToolKind, task_numbers};
use swarm_store::{StoreError, Team};
use swarm_tools::{ToolContext, ToolOutput, TypedTool, prompt};

use super::checks::named_task;
use crate::{MemberContext, check_line};

#[derive(Debug)]
pub(super) struct TaskGet(pub(super) Arc<MemberContext>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Input {
    /// Number of the task
    #[schemars(with = "String")]
    task_id: TaskId,
}

#[async_trait]
impl TypedTool for TaskGet {
    type Parameters = Input;
    const NAME: &'static str = "TaskGet";
    const PROMPT: &'static str = prompt!("tools/TaskGet");
    const KIND: ToolKind = ToolKind::Team;
    const READ_ONLY: bool = true;

    fn one_line(&self, input: &Value) -> String {
        format!("TaskGet #{}", named_task(input))
    }

    async fn call(&self, input: Input, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        let team = self.0.team();
        let team = team.ok_or("there is no team yet, and so no task list")?;
        let text = describe(&*team, &input.task_id).await;
        let text = text.map_err(|error| error.to_string())?;
        // The file does not say who wrote which part.
        let text = self.0.handoff_scan().checked(&text);
        Ok(ToolOutput::ok(text, "ok"))
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
    for check in &task.checks() {
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

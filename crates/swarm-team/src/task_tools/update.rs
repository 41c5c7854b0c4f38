//! `TaskUpdate`.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use swarm_protocol::{MemberName, TaskId, TaskStatus, ToolKind, task_numbers};
use swarm_store::{TaskChange, TaskUpdated, Team};
use swarm_tools::{ToolContext, ToolOutput, TypedTool, one_line, prompt};

use super::checks::{check_owner, check_subject, named_task};
use crate::{Completion, MemberContext};

/// Display text of a change.
const DONE: &str = "ok";

#[derive(Debug)]
pub(super) struct TaskUpdate(pub(super) Arc<MemberContext>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Input {
    /// Number of the task
    #[schemars(with = "String")]
    task_id: TaskId,
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    status: Option<Status>,
    /// The member who should do it
    #[schemars(with = "Option<String>")]
    owner: Option<MemberName>,
    /// Tasks that this one blocks
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    add_blocks: Vec<TaskId>,
    /// Tasks that must be completed before this one
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    add_blocked_by: Vec<TaskId>,
    /// Merged into the existing metadata; null removes a key
    metadata: Option<Map<String, Value>>,
    /// The outcome, when completing
    result: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
    Deleted,
}

#[async_trait]
impl TypedTool for TaskUpdate {
    type Parameters = Input;
    const NAME: &'static str = "TaskUpdate";
    const PROMPT: &'static str = prompt!("tools/TaskUpdate");
    const KIND: ToolKind = ToolKind::Team;

    fn one_line(&self, input: &Value) -> String {
        let id = named_task(input);
        match (input["status"].as_str(), input["owner"].as_str()) {
            (Some(status), _) => format!("TaskUpdate #{id} → {status}"),
            (None, Some(owner)) => format!("TaskUpdate #{id} owner {owner}"),
            (None, None) => format!("TaskUpdate #{id}"),
        }
    }

    async fn call(&self, input: Input, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let context = &self.0;
        if let Some(subject) = &input.subject {
            check_subject(Self::NAME, subject)?;
        }
        let team = context
            .team()
            .ok_or("there is no team yet, and so no task list")?;
        let id = input.task_id;
        if input.status == Some(Status::Deleted) {
            return self.delete(&*team, id).await;
        }
        let claims =
            input.status == Some(Status::InProgress) && input.owner.is_none() && !context.is_lead();
        let note = check_owner(context, &*team, input.owner.as_ref()).await?;
        let change = change_of(input);
        if claims {
            return self.claim(&*team, id, change).await;
        }
        let completion = Completion {
            team: &*team,
            id,
            change: &change,
            by: &context.actor(team.name()),
            merger: context.merger(),
            shell: Some(ctx),
            clock: &*context.clock,
        };
        let progress = |line: &str| {
            if let Some(host) = &ctx.host {
                host.progress(one_line(line));
            }
        };
        let hooks = context.hooks();
        let cleared = completion.clear(&hooks, &ctx.cancel, &progress).await;
        let check_runs = cleared.map_err(|error| error.to_string())?;
        let change = TaskChange {
            check_runs,
            ..change
        };
        let updated = team
            .update_task(&id, change, &context.actor(team.name()))
            .await
            .map_err(|error| error.to_string())?;
        let mut output = answer(context, id, &updated);
        output.content.push_str(&note);
        for undelivered in team.undelivered().await {
            if !undelivered.was_tried {
                continue;
            }
            output.content.push('\n');
            output.content.push_str(&undelivered.to_string());
        }
        Ok(output)
    }
}

impl TaskUpdate {
    /// A member that starts a task without naming an owner claims it. Other changes follow.
    async fn claim(
        &self,
        team: &dyn Team,
        id: TaskId,
        change: TaskChange,
    ) -> Result<ToolOutput, String> {
        let context = &self.0;
        let actor = context.actor(team.name());
        team.claim(&id, &actor)
            .await
            .map_err(|error| error.to_string())?;
        let claimed = format!("Task #{id} is yours and in progress");
        let rest = TaskChange {
            status: None,
            ..change
        };
        if rest == TaskChange::default() {
            return Ok(ToolOutput::ok(claimed, DONE));
        }
        let updated = team
            .update_task(&id, rest, &actor)
            .await
            .map_err(|error| format!("{claimed}, but nothing else was changed: {error}"))?;
        let mut output = answer(context, id, &updated);
        output.content = format!("{claimed}. {}", output.content);
        Ok(output)
    }

    async fn delete(&self, team: &dyn Team, id: TaskId) -> Result<ToolOutput, String> {
        let context = &self.0;
        team.delete_task(&id, &context.actor(team.name()))
            .await
            .map_err(|error| error.to_string())?;
        Ok(ToolOutput::ok(format!("Task #{id} deleted"), "deleted"))
    }
}

fn change_of(input: Input) -> TaskChange {
    TaskChange {
        subject: input.subject,
        description: input.description,
        active_form: input.active_form,
        status: input.status.and_then(|status| match status {
            Status::Pending => Some(TaskStatus::Pending),
            Status::InProgress => Some(TaskStatus::InProgress),
            Status::Completed => Some(TaskStatus::Completed),
            Status::Deleted => None,
        }),
        owner: input.owner,
        add_blocks: input.add_blocks,
        add_blocked_by: input.add_blocked_by,
        metadata: input.metadata,
        result: input.result,
        check_runs: Vec::new(),
    }
}

fn answer(context: &MemberContext, id: TaskId, updated: &TaskUpdated) -> ToolOutput {
    let mut text = format!("Updated task #{id}: {}", updated.changed_fields.join(", "));
    if updated.changed_fields.is_empty() {
        text = format!("Task #{id} is unchanged");
    }
    if !updated.unblocked.is_empty() {
        text.push_str(". No longer blocked: ");
        text.push_str(&task_numbers(updated.unblocked.iter().map(|task| task.id)));
    }
    if updated.task.status == TaskStatus::Completed && !context.is_lead() {
        text.push_str(". Call TaskList to see what can be done next.");
    }
    // The display of the call already has the status.
    let line = match updated.unblocked.len() {
        0 => DONE.to_owned(),
        count => format!("{DONE}, {count} no longer blocked"),
    };
    ToolOutput::ok(text, line)
}

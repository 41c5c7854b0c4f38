//! `TaskCreate`.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use swarm_protocol::{MemberName, NewTask, TaskId, ToolKind};
use swarm_tools::{ToolContext, ToolOutput, TypedTool, prompt};

use super::checks::{check_commands, check_owner, check_subject};
use crate::{MemberContext, created_hooks};

#[derive(Debug)]
pub(super) struct TaskCreate(pub(super) Arc<MemberContext>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Input {
    /// Short imperative title
    subject: String,
    /// What to do, and when it counts as done
    description: String,
    /// The title in progress, such as `Fixing the parser`
    active_form: Option<String>,
    /// The member who should do it
    #[schemars(with = "Option<String>")]
    owner: Option<MemberName>,
    /// Ids of tasks that must be completed first
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    blocked_by: Vec<TaskId>,
    metadata: Option<Map<String, Value>>,
    /// Shell commands that must succeed before the task can be completed, such as `cargo test`. They
    /// run in the owner's directory when it completes the task. You need permission to run them.
    #[serde(default)]
    checks: Vec<String>,
}

#[async_trait]
impl TypedTool for TaskCreate {
    type Parameters = Input;
    const NAME: &'static str = "TaskCreate";
    const PROMPT: &'static str = prompt!("tools/TaskCreate");
    const KIND: ToolKind = ToolKind::Team;

    fn one_line(&self, input: &Value) -> String {
        format!("TaskCreate {}", input["subject"].as_str().unwrap_or("?"))
    }

    fn commands(&self, input: &Value) -> Vec<String> {
        let checks = input["checks"].as_array().into_iter().flatten();
        checks
            .filter_map(|check| check.as_str().map(str::to_owned))
            .collect()
    }

    async fn call(&self, input: Input, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let context = &self.0;
        check_subject(Self::NAME, &input.subject)?;
        check_commands(&input.checks)?;
        let team = context.team_or_found().map_err(|error| error.to_string())?;
        let subject = input.subject.clone();
        let note = check_owner(context, &*team, input.owner.as_ref()).await?;
        let task = NewTask {
            subject: input.subject,
            description: input.description,
            active_form: input.active_form,
            owner: input.owner,
            blocked_by: input.blocked_by,
            after: Vec::new(),
            metadata: input.metadata,
            checks: input.checks,
        };
        let actor = context.actor(team.name());
        let ids = team
            .create_tasks(&[task], &actor)
            .await
            .map_err(|error| error.to_string())?;
        let [id] = ids[..] else {
            return Err("the task was not created".to_owned());
        };
        created_hooks(&*team, &[id], &context.hooks(), &actor, &ctx.cancel).await?;
        team.announce_tasks(&[id], &actor).await.map_err(|error| {
            format!("task #{id} was created, but its owner was not notified: {error}")
        })?;
        let text = format!("Task #{id} created successfully: {subject}{note}");
        Ok(ToolOutput::ok(text, format!("#{id}")))
    }
}

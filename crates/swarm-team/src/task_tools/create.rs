//! `TaskCreate`.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use swarm_protocol::{MemberName, NewTask, TaskId, TeamName, ToolKind};
use swarm_store::StoreError;
use swarm_tools::{Tool, ToolContext, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::pool::{check_owner, check_subject, parse};
use crate::{Seat, announce_assignment, created_hooks};

#[derive(Debug)]
pub(super) struct TaskCreate(pub(super) Arc<Seat>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    subject: String,
    description: String,
    #[serde(default)]
    active_form: Option<String>,
    #[serde(default)]
    owner: Option<MemberName>,
    #[serde(default)]
    blocked_by: Vec<TaskId>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

#[async_trait]
impl Tool for TaskCreate {
    fn name(&self) -> &'static str {
        "TaskCreate"
    }

    fn description(&self) -> String {
        "Add a task to the team's shared task list. Give a short imperative subject and say in the description \
         what done means. `blockedBy` lists tasks that must be completed first; a blocked task cannot be \
         started. `owner` assigns it to a member, who is told."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "subject": { "type": "string", "description": "Short imperative title" },
                "description": { "type": "string", "description": "What is to be done, and what done means" },
                "activeForm": { "type": "string", "description": "The title while it is worked on, such as \"Fixing the parser\"" },
                "owner": { "type": "string", "description": "Member who shall do it" },
                "blockedBy": { "type": "array", "items": { "type": "string" }, "description": "Ids of tasks to be completed first" },
                "metadata": { "type": "object" }
            },
            "required": ["subject", "description"],
            "additionalProperties": false
        })
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    fn one_line(&self, input: &Value) -> String {
        format!("TaskCreate {}", input["subject"].as_str().unwrap_or("?"))
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let input = match parse("TaskCreate", input) {
            Ok(input) => input,
            Err(output) => return output,
        };
        self.create(input, &ctx.cancel)
            .await
            .unwrap_or_else(ToolOutput::error)
    }
}

impl TaskCreate {
    async fn create(&self, input: Input, cancel: &CancellationToken) -> Result<ToolOutput, String> {
        let seat = &self.0;
        check_subject("TaskCreate", &input.subject)?;
        let team = seat.team_or_found().map_err(|error| error.to_string())?;
        let subject = input.subject.clone();
        let note = check_owner(seat, &team, input.owner.as_ref())?;
        let task = NewTask {
            subject: input.subject,
            description: input.description,
            active_form: input.active_form,
            owner: input.owner,
            blocked_by: input.blocked_by,
            after: Vec::new(),
            metadata: input.metadata,
        };
        let ids = seat
            .store
            .create_tasks(&team, &[task], &seat.actor(&team))
            .map_err(|error| error.to_string())?;
        let [id] = ids[..] else {
            return Err("the task was not created".to_owned());
        };
        created_hooks(
            &*seat.store,
            &team,
            &[id],
            &seat.hooks(),
            &seat.actor(&team),
            cancel,
        )
        .await?;
        self.announce(&team, id).map_err(|error| {
            format!("task #{id} was created, but its owner was not told: {error}")
        })?;
        let text = format!("Task #{id} created successfully: {subject}{note}");
        Ok(ToolOutput::ok(text, format!("#{id}")))
    }

    fn announce(&self, team: &TeamName, id: TaskId) -> Result<(), StoreError> {
        let seat = &self.0;
        let created = seat.store.task(team, &id)?;
        announce_assignment(&*seat.store, team, &created, &seat.name, seat.clock.now())
    }
}

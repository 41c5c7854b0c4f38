//! The tool `TaskStop`: stops a background sub-agent or command, or a teammate.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::{LEAD_NAME, ToolKind};
use swarm_tools::{
    BackgroundCommand, CommandState, Tool, ToolContext, ToolOutput, parse, prompt, schema,
};

use super::SubAgents;
use super::record::StoppedBy;
use crate::{TeammateStatus, Teammates};

/// Stops background work and teammates.
#[derive(Debug)]
pub(super) struct TaskStop {
    pub(super) agents: Weak<SubAgents>,
    pub(super) teammates: Arc<dyn Teammates>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id or name of the sub-agent, id of the command, or name of the teammate
    task_id: Option<String>,
    /// Former name of `task_id`.
    #[schemars(skip)]
    shell_id: Option<String>,
}

#[async_trait]
impl Tool for TaskStop {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["KillShell"]
    }

    fn description(&self) -> String {
        prompt!("tools/TaskStop").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Input>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn one_line(&self, input: &Value) -> String {
        let id = ["task_id", "shell_id"]
            .into_iter()
            .find_map(|key| input[key].as_str());
        let id = id.unwrap_or_default();
        format!("TaskStop {id}")
            .chars()
            .filter(|c| !c.is_control())
            .take(100)
            .collect()
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        match self.stop(input, ctx).await {
            Ok(output) => output,
            Err(why) => ToolOutput::error(why),
        }
    }
}

impl TaskStop {
    pub(super) const NAME: &str = "TaskStop";

    async fn stop(&self, input: Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let input: Input = parse(self.name(), input)?;
        let id_or_name = input.task_id.or(input.shell_id);
        let id_or_name = id_or_name.ok_or(
            "Nothing was stopped: pass `task_id`, the id of a sub-agent or command, or the name of a teammate",
        )?;
        let agents = self.agents.upgrade();
        let agents = agents.ok_or("Nothing was stopped: this process is shutting down")?;
        let commands = ctx.commands.as_ref();
        let wanted = id_or_name.trim();
        if let Some(command) = commands.and_then(|own| own.find(wanted)) {
            return stop_command(&command).await;
        }
        let record = agents.find(wanted);
        let runs = record
            .as_ref()
            .is_some_and(|found| found.view().is_running());
        // An id belongs to a sub-agent alone, so the team is not read for it.
        let is_id = record
            .as_ref()
            .is_some_and(|found| found.id.as_str() == wanted);
        let members = if is_id {
            Vec::new()
        } else {
            match self.teammates.list().await {
                Ok(members) => members,
                // A running sub-agent can be stopped without the team's files.
                Err(_) if runs => Vec::new(),
                Err(why) => return Err(why),
            }
        };
        if let Some(member) = members.iter().find(|member| member.is_called(wanted)) {
            if runs && !wanted.contains('@') {
                return Err(format!(
                    "Nothing was stopped: both a sub-agent and a teammate are called {wanted}. Pass the id of the \
                     sub-agent, or {}",
                    member.agent_id
                ));
            }
            return self.stop_member(member).await;
        }
        match record {
            Some(record) => stop_sub_agent(&agents, &record).await,
            None => Err(not_found(&agents, wanted, ctx) + &members_summary(&members)),
        }
    }

    async fn stop_member(&self, member: &TeammateStatus) -> Result<ToolOutput, String> {
        let name = &member.agent_id.name;
        let message = self.teammates.stop(name).await?;
        let out = json!({
            "message": message,
            "task_id": member.agent_id.to_string(),
            "task_type": "teammate",
        });
        Ok(ToolOutput::ok(out.to_string(), format!("stopped {name}")))
    }
}

async fn stop_sub_agent(agents: &SubAgents, record: &super::Record) -> Result<ToolOutput, String> {
    if !record.view().is_running() {
        return Err(format!(
            "Nothing was stopped: {} is not running; its status is {}. {}",
            record.name,
            record.view().status.name(),
            agents.running_summary()
        ));
    }
    record.stop(StoppedBy::Agent);
    record.until(|view| view.settled).await;
    let out = json!({
        "message": format!("Stopped {} ({})", record.name, record.request.description),
        "task_id": record.id,
        "task_type": "agent",
    });
    let line = format!("stopped {}", record.name);
    Ok(ToolOutput::ok(out.to_string(), line))
}

async fn stop_command(command: &BackgroundCommand) -> Result<ToolOutput, String> {
    let id = command.id();
    if command.state() != CommandState::Running {
        return Err(format!(
            "Nothing was stopped: {id} is not running; its status is {}.",
            command.state().word()
        ));
    }
    command.stop().await;
    let out = json!({
        "message": format!("Stopped {id} ({})", command.one_line()),
        "task_id": id,
        "task_type": "bash",
    });
    Ok(ToolOutput::ok(out.to_string(), format!("stopped {id}")))
}

/// Returns the sub-agent with a name or id; the error lists the running ones.
pub(super) fn find_sub_agent(
    agents: &SubAgents,
    id_or_name: &str,
    ctx: &ToolContext,
) -> Result<Arc<super::Record>, String> {
    let found = agents.find(id_or_name.trim());
    found.ok_or_else(|| not_found(agents, id_or_name, ctx))
}

fn not_found(agents: &SubAgents, id_or_name: &str, ctx: &ToolContext) -> String {
    let commands = ctx.commands.as_ref();
    format!(
        "No sub-agent or command `{}` found. {} {}",
        id_or_name.escape_debug(),
        agents.running_summary(),
        commands.map_or_else(String::new, |own| own.running_summary())
    )
}

/// Returns a sentence with the names of the teammates; empty without any.
fn members_summary(members: &[TeammateStatus]) -> String {
    let names = members.iter().map(|member| member.agent_id.name.as_str());
    let names: Vec<&str> = names.filter(|name| *name != LEAD_NAME).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" Teammates: {}.", names.join(", "))
}

//! The tool `TaskStop`: stops a background sub-agent or command, or a teammate.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::{LEAD_NAME, ToolKind};
use swarm_tools::{
    BackgroundCommand, CommandState, ToolContext, ToolOutput, TypedTool, one_line, prompt,
};

use super::SubAgents;
use super::record::StoppedBy;
use crate::{TeammateStatus, Teammates};

#[derive(Debug)]
pub(super) struct TaskStop {
    pub(super) agents: Weak<SubAgents>,
    pub(super) teammates: Arc<dyn Teammates>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Id or name of the sub-agent, id of the command, or name of the teammate
    task_id: Option<String>,
    /// Former name of `task_id`.
    #[schemars(skip)]
    shell_id: Option<String>,
}

#[async_trait]
impl TypedTool for TaskStop {
    type Parameters = Input;
    const NAME: &'static str = "TaskStop";
    const ALIASES: &'static [&'static str] = &["KillShell"];
    const PROMPT: &'static str = prompt!("tools/TaskStop");
    const KIND: ToolKind = ToolKind::Team;

    fn one_line(&self, input: &Value) -> String {
        let id = ["task_id", "shell_id"]
            .into_iter()
            .find_map(|key| input[key].as_str());
        one_line(&format!("{} {}", Self::NAME, id.unwrap_or_default()))
    }

    async fn call(&self, input: Input, ctx: &ToolContext) -> Result<ToolOutput, String> {
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
}

impl TaskStop {
    async fn stop_member(&self, member: &TeammateStatus) -> Result<ToolOutput, String> {
        let name = &member.agent_id.name;
        let message = self.teammates.stop(name).await?;
        let id = member.agent_id.to_string();
        Ok(stopped(&message, &id, "teammate", name.as_str()))
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
    let message = format!("Stopped {} ({})", record.name, record.request.description);
    Ok(stopped(&message, record.id.as_str(), "agent", &record.name))
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
    let message = format!("Stopped {id} ({})", command.one_line());
    Ok(stopped(&message, id, "bash", id))
}

fn stopped(message: &str, id: &str, task_type: &str, name: &str) -> ToolOutput {
    let out = json!({"message": message, "task_id": id, "task_type": task_type});
    ToolOutput::ok(out.to_string(), format!("stopped {name}"))
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

//! The tool `TaskStop`: stops a background sub-agent or command.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;
use swarm_tools::{
    BackgroundCommand, CommandState, Tool, ToolContext, ToolOutput, parse, prompt, schema,
};

use super::SubAgents;
use super::record::StoppedBy;

/// Stops background work.
#[derive(Debug)]
pub(super) struct TaskStop(pub(super) Weak<SubAgents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Id or name of the sub-agent, or id of the command
    task_id: Option<String>,
    /// Former name of `task_id`.
    #[schemars(skip)]
    shell_id: Option<String>,
}

#[async_trait]
impl Tool for TaskStop {
    fn name(&self) -> &'static str {
        "TaskStop"
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
    async fn stop(&self, input: Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let input: Input = parse(self.name(), input)?;
        let id_or_name = input.task_id.or(input.shell_id);
        let id_or_name = id_or_name
            .ok_or("Nothing was stopped: pass `task_id`, the id of a sub-agent or command")?;
        let agents = self.0.upgrade();
        let agents = agents.ok_or("Nothing was stopped: this process is shutting down")?;
        let commands = ctx.commands.as_ref();
        if let Some(command) = commands.and_then(|own| own.find(id_or_name.trim())) {
            return stop_command(&command).await;
        }
        let record = find_sub_agent(&agents, &id_or_name, ctx)?;
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
        Ok(ToolOutput::ok(
            out.to_string(),
            format!("stopped {}", record.name),
        ))
    }
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
    let commands = ctx.commands.as_ref();
    agents.find(id_or_name.trim()).ok_or_else(|| {
        format!(
            "No sub-agent or command `{}` found. {} {}",
            id_or_name.escape_debug(),
            agents.running_summary(),
            commands.map_or_else(String::new, |own| own.running_summary())
        )
    })
}

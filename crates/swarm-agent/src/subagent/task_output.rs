//! The tool `TaskOutput`: returns the state and output of a background sub-agent or command.

use std::sync::Weak;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use swarm_protocol::ToolKind;
use swarm_tools::{BackgroundCommand, CommandState, ToolContext, ToolOutput, TypedTool, prompt};

use super::report::words;
use super::task_stop::find_sub_agent;
use super::{Record, SubAgents};

/// Returns the output of background work, optionally after waiting for its end.
#[derive(Debug)]
pub(super) struct TaskOutput(pub(super) Weak<SubAgents>);

/// The longest wait in milliseconds.
const LONGEST: u64 = 600_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Id or name of the sub-agent, or id of the command
    #[serde(alias = "bash_id")]
    task_id: String,
    /// Wait for its end
    #[serde(default = "yes")]
    block: bool,
    /// Longest wait in milliseconds
    #[serde(default = "half_a_minute")]
    #[schemars(range(max = LONGEST))]
    timeout: u64,
    /// Regular expression: of a command's output, show only the lines that match
    filter: Option<String>,
}

fn yes() -> bool {
    true
}

fn half_a_minute() -> u64 {
    30_000
}

#[async_trait]
impl TypedTool for TaskOutput {
    type Parameters = Input;
    const NAME: &'static str = "TaskOutput";
    const ALIASES: &'static [&'static str] = &["BashOutput"];
    const PROMPT: &'static str = prompt!("tools/TaskOutput");
    const KIND: ToolKind = ToolKind::Team;
    const READ_ONLY: bool = true;
    const SUBJECT: &'static str = "task_id";

    async fn call(&self, input: Input, ctx: &ToolContext) -> Result<ToolOutput, String> {
        if input.timeout > LONGEST {
            return Err(format!("TaskOutput: `timeout` is at most {LONGEST}"));
        }
        let agents = self.0.upgrade();
        let agents = agents.ok_or("No output: this process is shutting down")?;
        let limit = agents.limits().output_chars;
        let commands = ctx.commands.as_ref();
        let command = commands.and_then(|own| own.find(input.task_id.trim()));
        if let Some((commands, command)) = commands.zip(command) {
            wait_for(command.ended(), &input, ctx).await;
            commands.mark_reported(&command);
            return report_command(&command, &input, limit);
        }
        let record = find_sub_agent(&agents, &input.task_id, ctx)?;
        let ended = record.until(|view| !view.is_running());
        wait_for(ended, &input, ctx).await;
        if !record.view().is_running() {
            agents.mark_retrieved(&record);
        }
        Ok(report(&record, input.block, limit))
    }
}

/// Waits for the end of a task, if the call asks for it.
async fn wait_for(ended: impl Future<Output = ()> + Send, input: &Input, ctx: &ToolContext) {
    if input.block {
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep(Duration::from_millis(input.timeout)) => {}
            () = ctx.cancel.cancelled() => {}
        }
    }
}

fn report_command(
    command: &BackgroundCommand,
    input: &Input,
    limit: usize,
) -> Result<ToolOutput, String> {
    let output = command.take_new_output(limit, input.filter.as_deref())?;
    let (state, id) = (command.state(), command.id());
    let is_running = state == CommandState::Running;
    let mut out = head(is_running, input.block, id, "bash", state.word());
    if let CommandState::Ended(_, how) = &state {
        out.push(format!("<exit>{how}</exit>"));
    }
    if let Some(file) = command.file() {
        out.push(format!("<output_file>{}</output_file>", file.display()));
    }
    let output = output.trim_end();
    let output = if output.is_empty() {
        "(no new output)"
    } else {
        output
    };
    out.push(format!("<output>\n{output}\n</output>"));
    Ok(ToolOutput::ok(
        out.join("\n"),
        format!("{id} {}", state.word()),
    ))
}

/// Returns the beginning of every result.
fn head(is_running: bool, block: bool, id: &str, task_type: &str, status: &str) -> Vec<String> {
    let retrieval = match (is_running, block) {
        (false, _) => "success",
        (true, true) => "timeout",
        (true, false) => "not_ready",
    };
    vec![
        format!("<retrieval_status>{retrieval}</retrieval_status>"),
        format!("<task_id>{id}</task_id>\n<task_type>{task_type}</task_type>"),
        format!("<status>{status}</status>"),
    ]
}

fn report(record: &Record, block: bool, limit: usize) -> ToolOutput {
    let (view, finding) = (record.view(), record.finding());
    let (is_running, status) = (view.is_running(), view.status.name());
    let mut out = head(is_running, block, record.id.as_str(), "agent", status);
    if let Some(error) = finding.error.as_ref().filter(|_| !is_running) {
        out.push(format!("<error>{error}</error>"));
    }
    if !is_running {
        out.push(format!(
            "<output>\n{}\n</output>",
            words(&finding, record, limit)
        ));
    }
    ToolOutput::ok(out.join("\n"), format!("{} {status}", record.name))
}

//! The tool `TaskOutput`: returns the state and output of a background sub-agent or command.

use std::sync::Weak;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;
use swarm_tools::{
    BackgroundCommand, CommandState, Tool, ToolContext, ToolOutput, parse, prompt, schema,
};

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
struct Input {
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
impl Tool for TaskOutput {
    fn name(&self) -> &'static str {
        "TaskOutput"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["BashOutput"]
    }

    fn description(&self) -> String {
        prompt!("tools/TaskOutput").to_owned()
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
        let id = input["task_id"].as_str().unwrap_or_default();
        format!("TaskOutput {id}")
            .chars()
            .filter(|c| !c.is_control())
            .take(100)
            .collect()
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        match self.retrieve(input, ctx).await {
            Ok(output) => output,
            Err(why) => ToolOutput::error(why),
        }
    }
}

impl TaskOutput {
    async fn retrieve(&self, input: Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let input: Input = parse(self.name(), input)?;
        if input.timeout > LONGEST {
            return Err(format!("TaskOutput: `timeout` is at most {LONGEST}"));
        }
        let agents = self.0.upgrade();
        let agents = agents.ok_or("No output: this process is shutting down")?;
        let limit = agents.limits().output_chars;
        let commands = ctx.commands.as_ref();
        let command = commands.and_then(|own| own.find(input.task_id.trim()));
        if let Some((commands, command)) = commands.zip(command) {
            if input.block {
                tokio::select! {
                    () = command.ended() => {}
                    () = tokio::time::sleep(Duration::from_millis(input.timeout)) => {}
                    () = ctx.cancel.cancelled() => {}
                }
            }
            commands.mark_reported(&command);
            return report_command(&command, &input, limit);
        }
        let record = find_sub_agent(&agents, &input.task_id, ctx)?;
        if input.block {
            tokio::select! {
                () = record.until(|view| !view.is_running()) => {}
                () = tokio::time::sleep(Duration::from_millis(input.timeout)) => {}
                () = ctx.cancel.cancelled() => {}
            }
        }
        if !record.view().is_running() {
            agents.mark_retrieved(&record);
        }
        Ok(report(&record, input.block, limit))
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
    let retrieval = retrieval(is_running, input.block);
    let mut out = vec![format!(
        "<retrieval_status>{retrieval}</retrieval_status>\n<task_id>{id}</task_id>\n<task_type>bash</task_type>\n<status>{}</status>",
        state.word()
    )];
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

fn retrieval(is_running: bool, block: bool) -> &'static str {
    match (is_running, block) {
        (false, _) => "success",
        (true, true) => "timeout",
        (true, false) => "not_ready",
    }
}

fn report(record: &Record, block: bool, limit: usize) -> ToolOutput {
    let (view, finding) = (record.view(), record.finding());
    let is_running = view.is_running();
    let retrieval = retrieval(is_running, block);
    let mut out = vec![format!(
        "<retrieval_status>{retrieval}</retrieval_status>\n<task_id>{}</task_id>\n<task_type>agent</task_type>\n<status>{}</status>",
        record.id,
        view.status.name()
    )];
    if let Some(error) = finding.error.as_ref().filter(|_| !is_running) {
        out.push(format!("<error>{error}</error>"));
    }
    if !is_running {
        out.push(format!(
            "<output>\n{}\n</output>",
            words(&finding, record, limit)
        ));
    }
    ToolOutput::ok(
        out.join("\n"),
        format!("{} {}", record.name, view.status.name()),
    )
}

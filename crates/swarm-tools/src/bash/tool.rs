//! The Bash tool: parameters and results.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::{ShellGuards, ToolKind};

use super::denial::denial;
use super::run::{CommandResult, run, run_in_background};
use super::running::{Outcome, sentence};
use crate::detail::output_lines;
use crate::one_line::counted;
use crate::{ToolContext, ToolLimits, ToolOutput, TypedTool, prompt};
use swarm_os::process::Ended;

/// Runs shell commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The command to execute
    command: String,
    /// Time limit in milliseconds
    #[schemars(range(min = 1, max = 600_000))]
    timeout: Option<usize>,
    /// What the command does, in five to ten words
    #[expect(dead_code, reason = "shown from the call itself")]
    description: Option<String>,
    /// Run in the background; you are notified when the command ends
    run_in_background: Option<bool>,
    #[schemars(skip)]
    #[serde(rename = "dangerouslyDisableSandbox")]
    #[expect(
        dead_code,
        reason = "accepted and without effect, since models pass it"
    )]
    disable_sandbox: Option<bool>,
}

#[async_trait]
impl TypedTool for Bash {
    type Parameters = Parameters;
    const NAME: &'static str = "Bash";
    const PROMPT: &'static str = prompt!("tools/Bash");
    const KIND: ToolKind = ToolKind::Execute;
    const SUBJECT: &'static str = "command";

    async fn call(&self, input: Parameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let command = input.command.as_str();
        if command.trim().is_empty() {
            return Err("The command is empty.".into());
        }
        if command.contains('\0') {
            return Err("A command cannot contain a NUL character.".into());
        }
        if input.run_in_background == Some(true) {
            return start(command, ctx).await;
        }
        let timeout = time_limit(input.timeout, &ctx.limits)?;
        let result = run(command, timeout, ctx).await?;
        Ok(report(&result, timeout, &ctx.guards))
    }
}

async fn start(command: &str, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let commands = ctx.commands.as_ref().ok_or(
        "Background commands are not available here. Run the command without `run_in_background`, with a sufficient `timeout`.",
    )?;
    let started = run_in_background(command, commands, ctx).await?;
    let id = started.id();
    let file = started.file().map_or_else(String::new, |file| {
        format!(" Output is written to {}.", file.display())
    });
    let content = format!(
        "Command running in background with ID: {id}.{file} You are notified when it ends. Read that file, or use TaskOutput \
         and TaskStop with task_id: '{id}' if you have these tools."
    );
    let mut response = response("", false);
    response["backgroundTaskId"] = json!(id);
    let line = format!("{id} in the background");
    Ok(ToolOutput::ok(content, line).with_response(response))
}

/// Returns the result in Claude Code's format, for hooks. Both streams of a command use one pipe,
/// which preserves their order.
fn response(output: &str, interrupted: bool) -> Value {
    json!({"stdout": output, "stderr": "", "interrupted": interrupted, "isImage": false})
}

fn time_limit(asked: Option<usize>, limits: &ToolLimits) -> Result<Duration, String> {
    match asked {
        None => Ok(limits.bash_timeout),
        Some(0) => Err("`timeout` of Bash must be at least 1 millisecond.".into()),
        Some(ms) => Ok(Duration::from_millis(ms as u64).min(limits.bash_timeout_max)),
    }
}

fn report(result: &CommandResult, timeout: Duration, guards: &ShellGuards) -> ToolOutput {
    let lines = counted(result.lines, "line");
    let (first, short, is_error) = match &result.outcome {
        Outcome::Exited(status) if status.success() => (None, "ok".to_owned(), false),
        Outcome::Exited(status) => (Some(sentence(*status)), word(*status), true),
        Outcome::TimedOut(ended) => {
            let limit = format!("{} ms", timeout.as_millis());
            (
                Some(format!(
                    "The command was terminated at its time limit of {limit}.{}",
                    survivors(ended)
                )),
                format!("timed out after {limit}"),
                true,
            )
        }
        Outcome::Interrupted(ended) => (
            Some(format!(
                "The command was interrupted and terminated.{}",
                survivors(ended)
            )),
            "interrupted".into(),
            true,
        ),
    };
    let mut parts = Vec::new();
    parts.extend(first);
    let output = result.output.trim_end_matches('\n');
    if !output.is_empty() {
        parts.push(output.to_owned());
    } else if !is_error {
        parts.push("(no output)".into());
    }
    if let Some(whole) = &result.whole {
        parts.push(format!("[full output, {lines}: {}]", whole.display()));
    }
    if let Some(network) = result.sandbox {
        let failed = is_error.then_some(output);
        parts.extend(denial(failed, &result.denied, network, guards));
    }
    if !result.background.is_empty() {
        let pids: Vec<String> = result
            .background
            .iter()
            .map(|process| process.pid.to_string())
            .collect();
        parts.push(format!(
            "[still running in the background, output no longer shown: process {}]",
            pids.join(", ")
        ));
    }
    parts.extend(result.reset.clone());
    let interrupted = matches!(result.outcome, Outcome::Interrupted(_));
    ToolOutput {
        is_error,
        detail: output_lines(output),
        response: Some(response(output, interrupted)),
        ..ToolOutput::ok(parts.join("\n"), format!("{short}, {lines}"))
    }
}

fn word(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "ended".into(),
    }
}

fn survivors(ended: &Ended) -> String {
    match ended.left {
        0 => String::new(),
        1 => " One of its processes could not be killed.".into(),
        left => format!(" {left} of its processes could not be killed."),
    }
}

//! What a model sees of Bash.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use super::run::{Outcome, Ran, run};
use crate::input::Input;
use crate::one_line::{counted, one_line};
use crate::{Tool, ToolContext, ToolLimits, ToolOutput};
use swarm_fs::process::Ended;

/// Runs shell commands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bash;

const PARAMETERS: [&str; 5] = [
    "command",
    "timeout",
    "description",
    "run_in_background",
    "dangerouslyDisableSandbox",
];

#[async_trait]
impl Tool for Bash {
    fn name(&self) -> &'static str {
        "Bash"
    }

    fn description(&self) -> String {
        "Runs a command line with bash and shows what it writes, standard error included, and its exit code. Each call \
         starts anew in the working folder: neither `cd` nor variables last until the next call, so use absolute paths \
         or `cd DIR && …` in one call. There is no standard input and no terminal. A command is ended after `timeout` \
         milliseconds (120000 when absent, 600000 at most). Of a long output the beginning and the end are shown, \
         30000 characters in all. To find and read files, use Glob, Grep and Read."
            .into()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command line"},
                "timeout": {"type": "integer", "minimum": 1, "maximum": 600_000, "description": "Time limit in milliseconds"},
                "description": {"type": "string", "description": "What the command does, in five to ten words"}
            },
            "required": ["command"],
            "additionalProperties": false
        })
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Execute
    }

    /// What a command does is for the permission policy to judge.
    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    fn one_line(&self, input: &Value) -> String {
        let command = input["command"].as_str().unwrap_or_default();
        one_line(&format!("Bash {command}"))
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        match bash(&input, ctx).await {
            Ok(output) => output,
            Err(why) => ToolOutput::error(why),
        }
    }
}

async fn bash(input: &Value, ctx: &ToolContext) -> Result<ToolOutput, String> {
    let input = Input::new("Bash", input, &PARAMETERS)?;
    let command = input.text("command")?;
    if command.trim().is_empty() {
        return Err("The command is empty.".into());
    }
    if command.contains('\0') {
        return Err("A command cannot contain a NUL character.".into());
    }
    if input.flag("run_in_background")? {
        return Err("Commands cannot be kept running in the background. Run it without `run_in_background`, with a \
                    `timeout` that is long enough."
            .into());
    }
    let timeout = time_limit(input.count("timeout")?, &ctx.limits)?;
    let ran = run(command, timeout, ctx).await?;
    Ok(report(&ran, timeout))
}

fn time_limit(asked: Option<usize>, limits: &ToolLimits) -> Result<Duration, String> {
    match asked {
        None => Ok(limits.bash_timeout),
        Some(0) => Err("`timeout` of Bash must be at least 1 millisecond.".into()),
        Some(ms) => Ok(Duration::from_millis(ms as u64).min(limits.bash_timeout_max)),
    }
}

fn report(ran: &Ran, timeout: Duration) -> ToolOutput {
    let lines = counted(ran.lines, "line");
    let (first, short, is_error) = match &ran.outcome {
        Outcome::Exited(status) if status.success() => (None, "ok".to_owned(), false),
        Outcome::Exited(status) => (Some(sentence(*status)), word(*status), true),
        Outcome::TimedOut(ended) => {
            let limit = format!("{} ms", timeout.as_millis());
            (
                Some(format!(
                    "The command was ended at its time limit of {limit}.{}",
                    survivors(ended)
                )),
                format!("timed out after {limit}"),
                true,
            )
        }
        Outcome::Interrupted(ended) => (
            Some(format!(
                "The command was interrupted and ended.{}",
                survivors(ended)
            )),
            "interrupted".into(),
            true,
        ),
    };
    let mut parts = Vec::new();
    parts.extend(first);
    let output = ran.output.trim_end_matches('\n');
    if !output.is_empty() {
        parts.push(output.to_owned());
    } else if !is_error {
        parts.push("(no output)".into());
    }
    if is_error && ran.sandboxed && output.contains("ermission denied") {
        parts.push(
            "[Commands here write in your work tree and in folders for temporary files alone; elsewhere they are refused. \
             Reading is not restricted.]"
                .into(),
        );
    }
    if !ran.background.is_empty() {
        let pids: Vec<String> = ran
            .background
            .iter()
            .map(|process| process.pid.to_string())
            .collect();
        parts.push(format!(
            "[still running in the background, with output that is no longer shown: process {}]",
            pids.join(", ")
        ));
    }
    ToolOutput {
        content: parts.join("\n"),
        is_error,
        one_line: format!("{short}, {lines}"),
    }
}

fn sentence(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exit code {code}"),
        (None, Some(signal)) => format!("Killed by signal {signal}"),
        (None, None) => status.to_string(),
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

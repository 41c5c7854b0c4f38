//! The interpretation of a hook's output, and the JSON that a successful hook may print.

use serde::Deserialize;
use serde_json::Value;

use crate::command::{CommandResult, ExitReason};

const BLOCKING_EXIT_CODE: i32 = 2;

/// A shell's exit codes for a program that cannot be executed and for one that does not exist.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// The result of one hook.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It exited with 0 and printed this text, which may be empty.
    Text(String),
    /// It exited with 0 and printed control JSON.
    Control(Box<ControlOutput>),
    /// It exited with 2; the text is its feedback.
    Block(String),
    /// The hook failed; this does not block the event.
    Failed(String),
    /// The event was cancelled.
    Interrupted,
}

pub(crate) fn answer(ran: &CommandResult, limit: u64) -> Answer {
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    match &ran.end {
        ExitReason::Exited(0) => parse_output(&ran.stdout.text(), ran.stdout.is_cut()),
        ExitReason::Exited(BLOCKING_EXIT_CODE) => Answer::Block(ran.stderr.text()),
        ExitReason::Exited(code @ (NOT_EXECUTABLE | NOT_FOUND)) => {
            let said = first_line(ran.stderr.text());
            let what = if *code == NOT_FOUND {
                "was not found"
            } else {
                "could not be executed"
            };
            Answer::Failed(format!("{what} (exit code {code}: {said})"))
        }
        ExitReason::Exited(code) => Answer::Failed(match first_line(ran.stderr.text()) {
            line if line.is_empty() => format!("exited with {code}"),
            line => format!("exited with {code}: {line}"),
        }),
        ExitReason::Signalled(signal) => {
            Answer::Failed(format!("was terminated by signal {signal}"))
        }
        ExitReason::TimedOut => {
            Answer::Failed(format!("timed out after {limit} s and was terminated"))
        }
        ExitReason::NotStarted(error) => Answer::Failed(format!("could not be started: {error}")),
        ExitReason::Interrupted => Answer::Interrupted,
    }
}

/// Interprets the output of a successful hook. `is_cut`: the output was truncated.
pub(crate) fn parse_output(text: &str, is_cut: bool) -> Answer {
    if !text.starts_with('{') {
        return Answer::Text(text.to_owned());
    }
    if is_cut {
        return Answer::Failed("returned JSON above the output limit".to_owned());
    }
    match serde_json::from_str(text) {
        Ok(control) => Answer::Control(Box::new(control)),
        Err(error) => Answer::Failed(format!("returned invalid JSON: {error}")),
    }
}

/// A hook's permission decision on a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// The call needs no approval. The weakest decision.
    Allow,
    /// The call requires approval.
    Ask,
    /// The call is denied. The strongest decision.
    Deny,
}

/// The supported fields. Unknown fields are ignored, because Claude Code's hooks may have more.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ControlOutput {
    #[serde(rename = "continue")]
    pub(crate) should_continue: Option<bool>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) suppress_output: bool,
    pub(crate) system_message: Option<String>,
    /// `block`; for tool calls also the older `approve`.
    pub(crate) decision: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) hook_specific_output: EventOutput,
}

/// Fields that apply to some events only.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EventOutput {
    pub(crate) permission_decision: Option<Permission>,
    pub(crate) permission_decision_reason: Option<String>,
    pub(crate) updated_input: Option<Value>,
    pub(crate) additional_context: Option<String>,
    /// The path of the directory created by a `WorktreeCreate` hook.
    pub(crate) worktree_path: Option<String>,
    /// Whether the model may repeat a call that was denied.
    pub(crate) retry: Option<bool>,
    /// The answer to a `PermissionRequest`.
    pub(crate) decision: Option<RequestDecision>,
}

/// A hook's answer to a permission request.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestDecision {
    pub(crate) behavior: Permission,
    pub(crate) updated_input: Option<Value>,
    pub(crate) message: Option<String>,
}

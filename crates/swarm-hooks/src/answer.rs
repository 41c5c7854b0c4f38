//! The interpretation of a hook's output.

use crate::command::{CommandResult, ExitReason};
use crate::control::ControlOutput;

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

/// Interprets the result of a command.
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

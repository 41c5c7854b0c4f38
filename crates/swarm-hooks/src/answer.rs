//! What one hook answered.

use crate::command::{End, Ran};
use crate::control::Control;

/// The exit code that blocks.
const BLOCKS: i32 = 2;

/// A shell's words for a program that is there and cannot be executed, and for one that is not there.
const NOT_RUN: i32 = 126;
const NOT_FOUND: i32 = 127;

/// One hook's answer.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It exited with 0 and said this, which may be nothing.
    Text(String),
    /// It exited with 0 and gave orders.
    Control(Box<Control>),
    /// It exited with 2; the text is its feedback.
    Block(String),
    /// It did not do what it is for; nothing is held up by that.
    Failed(String),
    /// Whoever waited for it no longer does.
    Interrupted,
}

/// Reads what a command came to.
pub(crate) fn answer(ran: &Ran, limit: u64) -> Answer {
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    match &ran.end {
        End::Exited(0) => said(&ran.stdout.text(), ran.stdout.is_cut()),
        End::Exited(BLOCKS) => Answer::Block(ran.stderr.text()),
        End::Exited(code @ (NOT_RUN | NOT_FOUND)) => {
            let said = first_line(ran.stderr.text());
            let what = if *code == NOT_FOUND {
                "was not found"
            } else {
                "could not be executed"
            };
            Answer::Failed(format!("{what} (exit code {code}: {said})"))
        }
        End::Exited(code) => Answer::Failed(match first_line(ran.stderr.text()) {
            line if line.is_empty() => format!("exited with {code}"),
            line => format!("exited with {code}: {line}"),
        }),
        End::Signalled(signal) => Answer::Failed(format!("was ended by signal {signal}")),
        End::TimedOut => Answer::Failed(format!("took longer than {limit} s and was ended")),
        End::NotStarted(error) => Answer::Failed(format!("could not be run: {error}")),
        End::Interrupted => Answer::Interrupted,
    }
}

/// Reads what a hook said that did its work. `is_cut` tells whether it said more.
pub(crate) fn said(text: &str, is_cut: bool) -> Answer {
    if !text.starts_with('{') {
        return Answer::Text(text.to_owned());
    }
    if is_cut {
        return Answer::Failed("answered with more JSON than is read".to_owned());
    }
    match serde_json::from_str(text) {
        Ok(control) => Answer::Control(Box::new(control)),
        Err(error) => Answer::Failed(format!(
            "answered with JSON that is not understood: {error}"
        )),
    }
}

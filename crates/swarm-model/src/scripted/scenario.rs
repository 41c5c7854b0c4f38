//! A checked scenario, ready to be played.

use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use super::conditions::Conditions;
use super::file::FailKind;
use super::template::{Template, TemplateValue};
use crate::stop::StopReason;

/// Everything a file says.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) path: PathBuf,
    /// Delay after each word that is streamed.
    pub(super) chunk_delay: Duration,
    pub(super) turns: Vec<Turn>,
}

/// What an agent does about one prompt.
#[derive(Debug)]
pub(super) struct Turn {
    /// Line in the file, for error messages.
    pub(super) line: usize,
    pub(super) when: Conditions,
    pub(super) steps: Vec<Step>,
    pub(super) interrupts: Vec<Interrupt>,
}

/// What an agent does about a text let in between its tool calls.
#[derive(Debug)]
pub(super) struct Interrupt {
    pub(super) contains: Option<String>,
    pub(super) matches: Option<Regex>,
    /// Whether the turn goes on with its own steps afterwards.
    pub(super) resume: bool,
    pub(super) steps: Vec<Step>,
}

/// One message of the model.
#[derive(Debug)]
pub(super) struct Step {
    /// Line in the file, for error messages.
    pub(super) line: usize,
    /// Takes named groups out of the tool results that this step answers.
    pub(super) capture: Option<Regex>,
    pub(super) wait: Duration,
    pub(super) think: Option<Template>,
    pub(super) say: Option<Template>,
    pub(super) calls: Vec<Call>,
    pub(super) fail: Option<Fail>,
    pub(super) stop: StopReason,
}

/// A tool call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) input: TemplateValue,
}

/// A failure of the model.
#[derive(Debug, Clone)]
pub(super) struct Fail {
    pub(super) kind: FailKind,
    pub(super) message: String,
    /// Attempts that fail before one succeeds; `None`: all.
    pub(super) times: Option<u32>,
    pub(super) wait: Duration,
    pub(super) after_text: bool,
}

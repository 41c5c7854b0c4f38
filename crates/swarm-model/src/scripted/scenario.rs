//! A validated scenario.

use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use super::conditions::Conditions;
use super::file::FailKind;
use super::template::{Template, TemplateValue};
use crate::stop::StopReason;

/// The content of a scenario file.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) path: PathBuf,
    /// Delay after each word that is streamed.
    pub(super) chunk_delay: Duration,
    pub(super) turns: Vec<Turn>,
}

/// Reaction of an agent to one prompt.
#[derive(Debug)]
pub(super) struct Turn {
    /// Line in the file, for error messages.
    pub(super) line: usize,
    pub(super) when: Conditions,
    pub(super) steps: Vec<Step>,
    pub(super) interrupts: Vec<Interrupt>,
}

/// Reaction of an agent to a text that arrives between its tool calls.
#[derive(Debug)]
pub(super) struct Interrupt {
    pub(super) contains: Option<String>,
    pub(super) matches: Option<Regex>,
    /// Whether the turn continues with its own steps afterwards.
    pub(super) resume: bool,
    pub(super) steps: Vec<Step>,
}

/// One message of the model.
#[derive(Debug)]
pub(super) struct Step {
    /// Line in the file, for error messages.
    pub(super) line: usize,
    /// Captures named groups from the tool results that this step answers.
    pub(super) capture: Option<Regex>,
    pub(super) wait: Duration,
    pub(super) think: Option<Template>,
    pub(super) say: Option<Template>,
    pub(super) calls: Vec<Call>,
    pub(super) fail: Option<Fail>,
    pub(super) stop: StopReason,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) input: TemplateValue,
}

/// A simulated failure of the model.
#[derive(Debug, Clone)]
pub(super) struct Fail {
    pub(super) kind: FailKind,
    pub(super) message: String,
    /// Number of attempts that fail before one succeeds; `None` means that all fail.
    pub(super) times: Option<u32>,
    pub(super) wait: Duration,
    pub(super) after_text: bool,
}

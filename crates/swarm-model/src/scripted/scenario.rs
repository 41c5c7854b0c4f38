//! A validated scenario, the conditions for its turns, and errors of scenario files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use crate::error::ModelError;
use crate::model::StopReason;

use super::file::FailKind;
use super::situation::Situation;
use super::template::{Template, TemplateValue};

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

/// A scenario file that cannot be read or is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read the scenario {}: {message}", path.display())]
    Unreadable {
        /// Path of the scenario file.
        path: PathBuf,
        /// Error of the operating system.
        message: String,
    },
    /// The content of the file is invalid.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// Path of the scenario file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The invalid field and how to correct it.
        message: String,
    },
}

impl From<ScenarioError> for ModelError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error.to_string())
    }
}

/// Named capture groups of regular expressions.
pub(super) type Captured = BTreeMap<String, String>;

/// Conditions of a turn; an absent condition is always true.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) agent: Option<String>,
    /// Number of the prompt in the conversation, from 1.
    pub(super) nth: Option<usize>,
    /// Substrings of the prompt; all must occur.
    pub(super) contains: Vec<String>,
    /// Matched against the prompt.
    pub(super) matches: Option<Regex>,
    /// Matched against the system prompt.
    pub(super) system_matches: Option<Regex>,
    /// Substrings that must each occur in some user text of the whole conversation.
    pub(super) seen_all: Vec<String>,
}

impl Conditions {
    /// Returns the captured groups if all conditions are met.
    pub(super) fn check(
        &self,
        agent: &str,
        system: &str,
        situation: &Situation<'_>,
    ) -> Option<Captured> {
        let seen = |part: &String| {
            situation
                .seen
                .iter()
                .any(|text| text.contains(part.as_str()))
        };
        let holds = self.agent.as_ref().is_none_or(|name| name == agent)
            && self.nth.is_none_or(|nth| nth == situation.nth)
            && self
                .contains
                .iter()
                .all(|part| situation.prompt.contains(part.as_str()))
            && self.seen_all.iter().all(seen);
        if !holds {
            return None;
        }
        let mut captured = Captured::new();
        for (regex, text) in [
            (&self.system_matches, system),
            (&self.matches, situation.prompt.as_str()),
        ] {
            if let Some(regex) = regex {
                captured.extend(capture(regex, text)?);
            }
        }
        Some(captured)
    }
}

/// Returns the named groups of the first match, or `None` without a match. A group that did not
/// participate is empty.
pub(super) fn capture(regex: &Regex, text: &str) -> Option<Captured> {
    let found = regex.captures(text)?;
    let groups = regex.capture_names().flatten().map(|name| {
        let group = found.name(name).map_or("", |group| group.as_str());
        (name.to_owned(), group.to_owned())
    });
    Some(groups.collect())
}

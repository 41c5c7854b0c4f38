//! The environment of one agent, saved next to its transcript, and announcements of its changes.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_os::{read_optional, replace_passing};
use swarm_protocol::{Clock, partial_debug};

use super::section::{EnvironmentFact, PromptEnvironment, changeable};

/// Extension of the file with the saved section.
const SAVED_EXTENSION: &str = "environment.md";

/// The environment of one agent: its section of the system prompt, and the facts that may change.
pub struct AgentEnvironment {
    section: String,
    cwd: PathBuf,
    model: String,
    clock: Arc<dyn Clock>,
}

impl AgentEnvironment {
    /// Creates the environment of a conversation. The section of its first process is saved next to
    /// the transcript, in `<transcript>.environment.md`, so that the prompt is unchanged when the
    /// conversation is resumed.
    pub fn of(transcript: &Path, at: &PromptEnvironment<'_>, clock: Arc<dyn Clock>) -> Self {
        let path = transcript.with_extension(SAVED_EXTENSION);
        let saved = read_optional(&path).ok().flatten();
        let saved = saved.and_then(|bytes| String::from_utf8(bytes).ok());
        let section = saved
            .map(|text| text.trim_end().to_owned())
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| {
                let section = at.section();
                if let Err(error) = replace_passing(&path, section.as_bytes()) {
                    // A resumed conversation then has a new prompt, which only costs its cache
                    // entry.
                    tracing::warn!(%error, "cannot save the environment section");
                }
                section
            });
        Self {
            section,
            cwd: at.cwd.to_owned(),
            model: at.model.to_owned(),
            clock,
        }
    }

    /// Returns the section of the system prompt.
    pub fn section(&self) -> &str {
        &self.section
    }

    /// Returns the current values of the facts that may change, except those of a team.
    pub(super) fn facts(&self) -> Vec<EnvironmentFact> {
        changeable(&self.cwd, &self.model, self.clock.now())
    }
}

partial_debug!(AgentEnvironment: cwd);

/// The start of a change announcement, by which announcements are found in a conversation.
pub(crate) const CHANGED: &str = "<system-reminder>\nThe environment has changed:\n";

/// The environment as one agent's conversation describes it.
#[derive(Debug)]
pub(crate) struct EnvironmentNews {
    environment: Arc<AgentEnvironment>,
    team: Option<Arc<dyn Brief>>,
    /// The last value per label in the conversation; `None` if the conversation must be searched.
    known_values: Option<HashMap<String, String>>,
}

impl EnvironmentNews {
    pub(crate) fn new(environment: Arc<AgentEnvironment>, team: Option<Arc<dyn Brief>>) -> Self {
        Self {
            environment,
            team,
            known_values: None,
        }
    }

    /// Discards the known values, because the conversation may have lost them. The next call of
    /// [`Self::news`] searches it.
    pub(crate) fn forget(&mut self) {
        self.known_values = None;
    }

    /// Returns the changes since the last announcement. `announced` returns the announcements in
    /// the conversation, oldest first.
    pub(crate) fn news(&mut self, announced: impl FnOnce() -> Vec<String>) -> Option<String> {
        let mut facts = self.environment.facts();
        facts.extend(self.team.iter().flat_map(|team| team.facts()));
        let known_values = self.known_values.get_or_insert_with(|| {
            let section = self.environment.section().to_owned();
            let texts = std::iter::once(section).chain(announced());
            texts.flat_map(|text| values(&text, &facts)).collect()
        });
        let is_news = |fact: &&EnvironmentFact| known_values.get(fact.label) != Some(&fact.value);
        let fresh: Vec<EnvironmentFact> = facts.iter().filter(is_news).cloned().collect();
        let lines: Vec<String> = fresh
            .iter()
            .map(|fact| format!("{}: {}\n", fact.label, fact.value))
            .collect();
        known_values.extend(
            fresh
                .into_iter()
                .map(|fact| (fact.label.to_owned(), fact.value)),
        );
        (!lines.is_empty()).then(|| format!("{CHANGED}{}</system-reminder>", lines.concat()))
    }
}

fn values(text: &str, facts: &[EnvironmentFact]) -> Vec<(String, String)> {
    let labelled = text.lines().filter_map(|line| line.split_once(": "));
    let known = labelled.filter(|(label, _)| facts.iter().any(|fact| fact.label == *label));
    known
        .map(|(label, value)| (label.to_owned(), value.to_owned()))
        .collect()
}

/// Provides the state of an agent's team, which changes independently of the agent.
pub trait Brief: Send + Sync + fmt::Debug {
    /// Returns the current state as text; `None` if there is nothing to report.
    fn brief(&self) -> Option<String>;

    /// Returns the facts for the environment section; changes of them are announced.
    fn facts(&self) -> Vec<EnvironmentFact>;
}

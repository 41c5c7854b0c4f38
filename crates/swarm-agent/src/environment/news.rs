//! Announces changes of an agent's environment.

use std::collections::HashMap;
use std::sync::Arc;

use super::{AgentEnvironment, EnvironmentFact};
use crate::Brief;

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

/// Returns the values of these facts in a text.
fn values(text: &str, facts: &[EnvironmentFact]) -> Vec<(String, String)> {
    let labelled = text.lines().filter_map(|line| line.split_once(": "));
    let known = labelled.filter(|(label, _)| facts.iter().any(|fact| fact.label == *label));
    known
        .map(|(label, value)| (label.to_owned(), value.to_owned()))
        .collect()
}

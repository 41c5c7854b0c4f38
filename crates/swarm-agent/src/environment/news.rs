//! Changes of an agent's environment.

use std::collections::HashMap;
use std::sync::Arc;

use super::{AgentEnvironment, EnvironmentFact};
use crate::Brief;

/// The beginning of a message about changes, by which it is found again in a conversation.
pub(crate) const CHANGED: &str = "<system-reminder>\nThe environment has changed:\n";

/// What one agent knows about its environment.
#[derive(Debug)]
pub(crate) struct EnvironmentNews {
    environment: Arc<AgentEnvironment>,
    team: Option<Arc<dyn Brief>>,
    /// The value that the conversation has for each label; `None` where the conversation must be searched for them.
    told: Option<HashMap<String, String>>,
}

impl EnvironmentNews {
    pub(crate) fn new(environment: Arc<AgentEnvironment>, team: Option<Arc<dyn Brief>>) -> Self {
        Self {
            environment,
            team,
            told: None,
        }
    }

    /// What the agent was told may be missing from its conversation: the next look searches it.
    pub(crate) fn forget(&mut self) {
        self.told = None;
    }

    /// What has changed since the agent was told. `announced` returns the messages about changes that its conversation has,
    /// oldest first.
    pub(crate) fn news(&mut self, announced: impl FnOnce() -> Vec<String>) -> Option<String> {
        let mut facts = self.environment.facts();
        facts.extend(self.team.iter().flat_map(|team| team.facts()));
        let told = self.told.get_or_insert_with(|| {
            let section = self.environment.section().to_owned();
            let texts = std::iter::once(section).chain(announced());
            texts.flat_map(|text| values(&text, &facts)).collect()
        });
        let is_news = |fact: &&EnvironmentFact| told.get(fact.label) != Some(&fact.value);
        let fresh: Vec<EnvironmentFact> = facts.iter().filter(is_news).cloned().collect();
        let lines: Vec<String> = fresh
            .iter()
            .map(|fact| format!("{}: {}\n", fact.label, fact.value))
            .collect();
        told.extend(
            fresh
                .into_iter()
                .map(|fact| (fact.label.to_owned(), fact.value)),
        );
        (!lines.is_empty()).then(|| format!("{CHANGED}{}</system-reminder>", lines.concat()))
    }
}

/// What a text says about these facts.
fn values(text: &str, facts: &[EnvironmentFact]) -> Vec<(String, String)> {
    let labelled = text.lines().filter_map(|line| line.split_once(": "));
    let known = labelled.filter(|(label, _)| facts.iter().any(|fact| fact.label == *label));
    known
        .map(|(label, value)| (label.to_owned(), value.to_owned()))
        .collect()
}

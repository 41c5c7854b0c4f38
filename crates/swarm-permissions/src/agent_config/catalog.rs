//! All agent definitions and their precedence.

use serde::{Deserialize, Serialize};

use super::AgentDefinition;
use crate::nearest::folded;

/// The definitions of every source, strongest first; if several share a name, the first wins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentCatalog {
    all: Vec<AgentDefinition>,
}

impl AgentCatalog {
    /// Sorts definitions by source, keeping the given order within a source.
    pub fn new(mut all: Vec<AgentDefinition>) -> Self {
        all.sort_by_key(|definition| definition.source);
        Self { all }
    }

    /// Returns the effective definition of a type, ignoring case and separators.
    pub fn find(&self, name: &str) -> Option<&AgentDefinition> {
        self.winners()
            .find(|definition| same_agent_type(&definition.name, name))
    }

    /// Returns the effective definitions, strongest source first.
    pub fn winners(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.with_precedence()
            .filter(|(_, counts)| *counts)
            .map(|(definition, _)| definition)
    }

    /// Returns every definition and whether it is effective.
    pub fn with_precedence(&self) -> impl Iterator<Item = (&AgentDefinition, bool)> {
        self.all.iter().enumerate().map(|(index, definition)| {
            let earlier = &self.all[..index];
            (
                definition,
                !earlier
                    .iter()
                    .any(|other| same_agent_type(&other.name, &definition.name)),
            )
        })
    }
}

/// Returns whether two spellings name the same type, ignoring case and separators.
pub fn same_agent_type(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AgentSource;

    fn definition(name: &str, source: AgentSource) -> AgentDefinition {
        AgentDefinition {
            source,
            ..AgentDefinition::new(name, source_word(source), "")
        }
    }

    fn source_word(source: AgentSource) -> String {
        format!("{source:?}")
    }

    #[test]
    fn the_strongest_source_wins_and_the_first_within_it() {
        let catalog = AgentCatalog::new(vec![
            definition("tester", AgentSource::BuiltIn),
            definition("tester", AgentSource::User),
            AgentDefinition {
                description: "near".into(),
                ..definition("Tester", AgentSource::Project)
            },
            AgentDefinition {
                description: "far".into(),
                ..definition("tester", AgentSource::Project)
            },
        ]);
        assert_eq!(catalog.find("tes-ter").unwrap().description, "near");
        assert_eq!(catalog.winners().count(), 1);
        assert_eq!(
            catalog
                .with_precedence()
                .filter(|(_, counts)| !counts)
                .count(),
            3
        );
        assert_eq!(catalog.find("other"), None);
    }
}

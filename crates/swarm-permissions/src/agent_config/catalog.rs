//! All definitions, and which of them counts.

use serde::{Deserialize, Serialize};

use super::AgentDefinition;

/// The definitions of every source, strongest first; of those with one name the first counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentCatalog {
    all: Vec<AgentDefinition>,
}

impl AgentCatalog {
    /// Sorts definitions by their source. Within a source the order given counts.
    pub fn new(mut all: Vec<AgentDefinition>) -> Self {
        all.sort_by_key(|definition| definition.source);
        Self { all }
    }

    /// The definition that counts for a type; case and separators do not matter.
    pub fn find(&self, name: &str) -> Option<&AgentDefinition> {
        self.winners()
            .find(|definition| same_agent_type(&definition.name, name))
    }

    /// The definitions that count, strongest source first.
    pub fn winners(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.with_standing()
            .filter(|(_, counts)| *counts)
            .map(|(definition, _)| definition)
    }

    /// Every definition, and whether it counts.
    pub fn with_standing(&self) -> impl Iterator<Item = (&AgentDefinition, bool)> {
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

/// Whether two spellings mean one type; case and separators do not matter.
pub fn same_agent_type(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

fn folded(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
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
    fn the_strongest_source_counts_and_the_first_within_it() {
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
                .with_standing()
                .filter(|(_, counts)| !counts)
                .count(),
            3
        );
        assert_eq!(catalog.find("other"), None);
    }
}

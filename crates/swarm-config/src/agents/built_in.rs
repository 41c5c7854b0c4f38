//! The built-in agent definitions.

use swarm_permissions::{AgentDefinition, AgentSource, read_definition_file};

macro_rules! file {
    ($name:literal) => {
        (
            concat!("config/agents/", $name),
            include_str!(concat!("../../../../config/agents/", $name)),
        )
    };
}

const FILES: [(&str, &str); 6] = [
    file!("general-purpose.md"),
    file!("Explore.md"),
    file!("Plan.md"),
    file!("verification.md"),
    file!("statusline-setup.md"),
    file!("claude-code-guide.md"),
];

pub(super) fn definitions() -> impl Iterator<Item = AgentDefinition> {
    // A test verifies that each is read without problems.
    FILES.iter().filter_map(|(name, text)| {
        let definition = read_definition_file(text, name).definition?;
        Some(AgentDefinition {
            source: AgentSource::BuiltIn,
            ..definition
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_definition_is_valid() {
        for (name, text) in FILES {
            let read = read_definition_file(text, name);
            assert_eq!(read.problems, [], "{name}");
            let definition = read.definition.expect(name);
            assert_eq!(format!("config/agents/{}.md", definition.name), name);
            assert!(definition.prompt.len() > 200, "{name}");
        }
        assert_eq!(definitions().count(), FILES.len());
    }
}

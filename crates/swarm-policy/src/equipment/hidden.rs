//! Definitions that no model is told of.

use crate::rule::Content;
use crate::{AgentDefinition, McpSettings, RuleSet, same_agent_type};

/// Why a type is not offered, as half a sentence: a rule denies it, or a server that it needs is not there. `None` if it
/// is offered.
pub fn hidden_type(
    definition: &AgentDefinition,
    rules: &RuleSet,
    mcp: &McpSettings,
) -> Option<String> {
    denied_type(&definition.name, rules).or_else(|| {
        let missing = missing_servers(definition, mcp.servers.keys().map(String::as_str));
        (!missing.is_empty()).then(|| format!("it needs the MCP server {}", missing.join(" and ")))
    })
}

/// The rule that denies agents of a type, as half a sentence.
pub fn denied_type(agent_type: &str, rules: &RuleSet) -> Option<String> {
    let denied = rules.deny.iter().find(|sourced| {
        let names = ["Agent", "Task"].contains(&sourced.rule.tool());
        names
            && match sourced.rule.content() {
                Content::Any => true,
                // A type is found in any spelling, so it is denied in any.
                Content::Parameter(_, pattern) => {
                    let text = sourced.rule.content_text().unwrap_or_default();
                    pattern.matches(agent_type) || same_agent_type(text, agent_type)
                }
                _ => false,
            }
    })?;
    Some(format!(
        "rule `{}` denies it ({})",
        denied.rule, denied.origin
    ))
}

/// The servers that a definition needs and that are not among those there. Parts of names count, in any letter case.
pub fn missing_servers<'d, 's>(
    definition: &'d AgentDefinition,
    there: impl Iterator<Item = &'s str>,
) -> Vec<&'d str> {
    let there: Vec<_> = there.map(str::to_lowercase).collect();
    let is_there = |part: &str| {
        let part = part.to_lowercase();
        there.iter().any(|name| name.contains(&part))
    };
    let needed = definition.required_mcp_servers.iter().map(String::as_str);
    needed.filter(|part| !is_there(part)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Behavior, McpServer, McpServerConfig, Rule};

    fn servers(names: &[&str]) -> McpSettings {
        let server = McpServer {
            config: McpServerConfig::Http {
                url: "http://127.0.0.1:1".into(),
                headers: BTreeMap::new(),
            },
            origin: "test".into(),
            tools: None,
        };
        McpSettings {
            servers: names
                .iter()
                .map(|name| ((*name).to_owned(), server.clone()))
                .collect(),
            ..McpSettings::default()
        }
    }

    #[test]
    fn denied_types_and_those_without_their_servers_are_hidden() {
        let mut rules = RuleSet::default();
        rules.add(
            Behavior::Deny,
            Rule::parse("Agent(explore)").unwrap(),
            "settings.json",
        );
        let mut definition = AgentDefinition::new("Explore", "x", "x");
        assert_eq!(
            hidden_type(&definition, &rules, &servers(&[])).unwrap(),
            "rule `Agent(explore)` denies it (settings.json)"
        );
        definition.name = "Plan".into();
        assert_eq!(hidden_type(&definition, &rules, &servers(&[])), None);
        definition.required_mcp_servers = vec!["Git".into(), "slack".into()];
        assert_eq!(
            hidden_type(&definition, &rules, &servers(&["my-github"])).unwrap(),
            "it needs the MCP server slack"
        );
        assert_eq!(
            hidden_type(&definition, &rules, &servers(&["github", "SLACK-a"])),
            None
        );
    }
}

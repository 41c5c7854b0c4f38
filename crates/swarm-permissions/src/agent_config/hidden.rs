//! Definitions that are not offered to models.

use crate::pool::mcp_name;
use crate::rule::Content;
use crate::{AgentDefinition, McpSettings, McpUse, RuleSet, same_agent_type};

/// Returns why a type is not offered: a rule denies it or a required server is missing. `None` if
/// it is offered.
pub fn hidden_type(
    definition: &AgentDefinition,
    rules: &RuleSet,
    mcp: &McpSettings,
) -> Option<String> {
    denied_type(&definition.name, rules).or_else(|| {
        let missing = missing_servers(definition, mcp.servers.keys().map(String::as_str));
        (!missing.is_empty()).then(|| {
            format!(
                "the required MCP server {} is missing",
                missing.join(" and ")
            )
        })
    })
}

/// Returns a message about the rule that denies agents of a type.
pub fn denied_type(agent_type: &str, rules: &RuleSet) -> Option<String> {
    let denied = rules.deny.iter().find(|sourced| {
        let names = ["Agent", "Task"].contains(&sourced.rule.tool());
        names
            && match sourced.rule.content() {
                Content::Any => true,
                // Types are found in any spelling, so they are denied in any spelling.
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

/// Returns the servers that a definition requires and that are not `available`: those in
/// `mcpServers`, and those in `requiredMcpServers`, which match parts of names. Case is ignored.
pub fn missing_servers<'d, 's>(
    definition: &'d AgentDefinition,
    there: impl Iterator<Item = &'s str>,
) -> Vec<&'d str> {
    let there: Vec<_> = there.map(folded).collect();
    let has_part = |part: &&str| {
        let part = folded(part);
        there.iter().any(|name| name.contains(&part))
    };
    let has = |name: &&str| there.contains(&folded(name));
    let required = definition.required_mcp_servers.iter().map(String::as_str);
    let shared = definition.mcp_servers.iter().filter_map(|one| match one {
        McpUse::Shared(name) => Some(name.as_str()),
        McpUse::Own(..) => None,
    });
    let mut missing: Vec<&str> = required.filter(|part| !has_part(part)).collect();
    for name in shared.filter(|name| !has(name)) {
        if !missing.contains(&name) {
            missing.push(name);
        }
    }
    missing
}

/// Returns the servers that a definition requires and that provide none of these tools.
pub fn servers_without_tools<'d, 't>(
    definition: &'d AgentDefinition,
    tools: impl Iterator<Item = &'t str>,
) -> Vec<&'d str> {
    let rests = tools.filter_map(|name| name.strip_prefix("mcp__"));
    missing_servers(definition, rests.filter_map(|rest| rest.split("__").next()))
}

/// Normalizes a server's name to its form in tool names, in lower case.
fn folded(name: &str) -> String {
    mcp_name(&name.to_lowercase())
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
            resources: false,
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
            "the required MCP server slack is missing"
        );
        assert_eq!(
            hidden_type(&definition, &rules, &servers(&["github", "SLACK-a"])),
            None
        );
    }

    #[test]
    fn a_type_whose_servers_are_missing_is_hidden() {
        let mut definition = AgentDefinition::new("a", "x", "x");
        let own = servers(&["own"]).servers.remove("own").unwrap();
        definition.mcp_servers = vec![
            McpUse::Shared("github".into()),
            McpUse::Own("own".into(), own.config),
        ];
        let hidden =
            |names: &[&str]| hidden_type(&definition, &RuleSet::default(), &servers(names));
        assert_eq!(
            hidden(&["my-github"]).unwrap(),
            "the required MCP server github is missing"
        );
        assert_eq!(hidden(&["GitHub"]), None);
        let tools = ["mcp__github__log"];
        assert!(servers_without_tools(&definition, tools.into_iter()).is_empty());
        assert_eq!(
            servers_without_tools(&definition, ["Read"].into_iter()),
            ["github"]
        );
    }

    #[test]
    fn a_server_is_recognized_by_its_name_and_by_its_tools() {
        let mut definition = AgentDefinition::new("a", "x", "x");
        definition.required_mcp_servers = vec!["my git.v2".into(), "Slack".into()];
        let tools = ["Read", "mcp__my_git_v2__log"];
        assert_eq!(
            servers_without_tools(&definition, tools.into_iter()),
            ["Slack"]
        );
        let there = ["My Git.v2", "slack"];
        assert_eq!(missing_servers(&definition, there.into_iter()), [""; 0]);
    }
}

//! The tools that the definitions of parent agents allow.

use serde::{Deserialize, Serialize};

use super::ToolSelector;
use super::names::mcp_name;
use super::tables::MEMORY;
use crate::{AgentDefinition, McpUse, ToolAllowance};

/// The tool restrictions of all parent agents. They are inherited: an agent that cannot write
/// cannot start one that can. A coordinator's short tool list does not restrict its agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolCeiling {
    above: Vec<DefinitionLimits>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionLimits {
    agent: String,
    tools: ToolAllowance,
    disallowed: Vec<String>,
    servers: Vec<String>,
    has_memory: bool,
}

impl ToolCeiling {
    /// Returns the ceiling for children of an agent with this definition.
    #[must_use]
    pub fn below(&self, definition: Option<&AgentDefinition>) -> Self {
        let mut above = self.above.clone();
        let limits = definition.map(DefinitionLimits::of);
        above.extend(limits.filter(DefinitionLimits::restricts));
        Self { above }
    }

    /// Returns why a tool is not allowed; `None` if it is allowed.
    pub fn denial(&self, tool: &str) -> Option<String> {
        let lacks = |one: &&DefinitionLimits| one.denies(tool) || !one.allows(tool);
        let agent = &self.above.iter().find(lacks)?.agent;
        Some(format!("the parent agent `{agent}` does not have the tool"))
    }

    /// Returns why an agent type is not allowed; `None` if it is allowed.
    pub fn type_denial(&self, agent_type: &str) -> Option<String> {
        let denies = |one: &&DefinitionLimits| !one.allows_type(agent_type);
        let agent = &self.above.iter().find(denies)?.agent;
        Some(format!(
            "the definition `{agent}` does not allow it to start `{agent_type}`"
        ))
    }
}

impl DefinitionLimits {
    pub(super) fn of(definition: &AgentDefinition) -> Self {
        let servers = definition.mcp_servers.iter().map(|server| match server {
            McpUse::Shared(name) | McpUse::Own(name, _) => format!("mcp__{}__", mcp_name(name)),
        });
        Self {
            agent: definition.name.clone(),
            tools: definition.tools.clone(),
            disallowed: definition.disallowed_tools.clone(),
            servers: servers.collect(),
            has_memory: definition.memory.is_some(),
        }
    }

    fn restricts(&self) -> bool {
        self.tools != ToolAllowance::All || !self.disallowed.is_empty()
    }

    fn denies(&self, tool: &str) -> bool {
        denied_by(&self.disallowed, tool).is_some()
    }

    fn allows(&self, tool: &str) -> bool {
        let ToolAllowance::Only(entries) = &self.tools else {
            return true;
        };
        (self.has_memory && MEMORY.contains(&tool))
            || self.servers.iter().any(|head| tool.starts_with(head))
            || selectors(entries).any(|selector| selector.names(tool))
    }

    fn allows_type(&self, agent_type: &str) -> bool {
        let is_it = |one: &String| crate::same_agent_type(one, agent_type);
        let lists = |entries: &[String]| {
            selectors(entries).any(|selector| match selector {
                ToolSelector::AgentTypes(types) => types.iter().any(is_it),
                _ => false,
            })
        };
        if lists(&self.disallowed) {
            return false;
        }
        let ToolAllowance::Only(entries) = &self.tools else {
            return true;
        };
        let whole =
            selectors(entries).any(|selector| selector == ToolSelector::Tool("Agent".to_owned()));
        whole || lists(entries)
    }
}

pub(super) fn allows(definition: &AgentDefinition, tool: &str) -> bool {
    DefinitionLimits::of(definition).allows(tool)
}

/// Returns the entry of `disallowedTools` that removes a tool. `Agent(type)` removes only a type
/// and `Bash(git:*)` only some calls.
pub(super) fn denied_by<'a>(entries: &'a [String], tool: &str) -> Option<&'a String> {
    entries
        .iter()
        .find(|entry| match ToolSelector::parse(entry) {
            Ok(ToolSelector::AgentTypes(_) | ToolSelector::Calls(_)) => false,
            Ok(selector) => selector.names(tool),
            // `*`, and invalid entries of definitions that were not read from a file: deny too much
            // rather than too little.
            Err(_) => entry.as_str() == "*" || entry.starts_with(tool),
        })
}

/// Returns what the valid entries select.
pub(super) fn selectors(entries: &[String]) -> impl Iterator<Item = ToolSelector> {
    entries
        .iter()
        .filter_map(|entry| ToolSelector::parse(entry).ok())
}

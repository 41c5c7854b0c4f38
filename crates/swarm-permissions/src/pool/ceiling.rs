//! What the definitions of those above an agent let it have.

use serde::{Deserialize, Serialize};

use super::ToolSelector;
use super::tables::MEMORY;
use crate::{AgentDefinition, McpUse, ToolAllowance};

/// The tools that agents above one may use by their definitions. Rights only shrink: an agent that may not write
/// cannot have one below it that may. A coordinator's short list is a way of working and no ceiling.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolCeiling {
    above: Vec<Narrowing>,
}

/// What one definition lets through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Narrowing {
    agent: String,
    tools: ToolAllowance,
    disallowed: Vec<String>,
    servers: Vec<String>,
    has_memory: bool,
}

impl ToolCeiling {
    /// The ceiling of the agents below one of this definition.
    #[must_use]
    pub fn below(&self, definition: Option<&AgentDefinition>) -> Self {
        let mut above = self.above.clone();
        let narrowing = definition.map(Narrowing::of);
        above.extend(narrowing.filter(Narrowing::narrows));
        Self { above }
    }

    /// Why a tool is above the ceiling; `None` if it is not.
    pub fn bars(&self, tool: &str) -> Option<String> {
        self.above.iter().find_map(|one| {
            let denied = one.denies(tool);
            (denied || !one.allows(tool))
                .then(|| format!("`{}` above it does not have the tool", one.agent))
        })
    }

    /// Why an agent of a type is above the ceiling; `None` if it is not.
    pub fn bars_type(&self, agent_type: &str) -> Option<String> {
        self.above.iter().find_map(|one| {
            let barred = !one.allows_type(agent_type);
            barred.then(|| {
                format!(
                    "the definition `{}` does not let it start `{agent_type}`",
                    one.agent
                )
            })
        })
    }
}

impl Narrowing {
    pub(super) fn of(definition: &AgentDefinition) -> Self {
        let servers = definition.mcp_servers.iter().map(|server| match server {
            McpUse::Shared(name) | McpUse::Own(name, _) => mcp_tools(name),
        });
        Self {
            agent: definition.name.clone(),
            tools: definition.tools.clone(),
            disallowed: definition.disallowed_tools.clone(),
            servers: servers.collect(),
            has_memory: definition.memory.is_some(),
        }
    }

    fn narrows(&self) -> bool {
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
        let lists = |entries: &[String]| -> Vec<Vec<String>> {
            let types = selectors(entries).filter_map(|selector| match selector {
                ToolSelector::AgentTypes(types) => Some(types),
                _ => None,
            });
            types.collect()
        };
        let speaks = |types: &Vec<String>| {
            types
                .iter()
                .any(|one| crate::same_agent_type(one, agent_type))
        };
        if lists(&self.disallowed).iter().any(speaks) {
            return false;
        }
        let ToolAllowance::Only(entries) = &self.tools else {
            return true;
        };
        let whole =
            selectors(entries).any(|selector| selector == ToolSelector::Tool("Agent".to_owned()));
        whole || lists(entries).iter().any(speaks)
    }
}

/// Whether a definition's own `tools` lets a tool through.
pub(super) fn allows(definition: &AgentDefinition, tool: &str) -> bool {
    Narrowing::of(definition).allows(tool)
}

/// The entry of `disallowedTools` that takes a tool away. `Agent(type)` takes a type away and `Bash(git:*)` some calls, not
/// the tool.
pub(super) fn denied_by<'a>(entries: &'a [String], tool: &str) -> Option<&'a String> {
    entries
        .iter()
        .find(|entry| match ToolSelector::parse(entry) {
            Ok(ToolSelector::AgentTypes(_) | ToolSelector::Calls(_)) => false,
            Ok(selector) => selector.names(tool),
            // The star, and what definitions that were made otherwise than by reading a file may hold: too much is
            // denied rather than too little.
            Err(_) => entry.as_str() == "*" || entry.starts_with(tool),
        })
}

fn selectors(entries: &[String]) -> impl Iterator<Item = ToolSelector> {
    entries
        .iter()
        .filter_map(|entry| ToolSelector::parse(entry).ok())
}

/// What the names of a server's tools begin with.
fn mcp_tools(server: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let plain: String = server
        .chars()
        .map(|c| if kept(c) { c } else { '_' })
        .collect();
    format!("mcp__{plain}__")
}

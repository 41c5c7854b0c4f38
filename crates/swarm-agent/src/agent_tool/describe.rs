//! Describes to a model which agents it may start.

use swarm_permissions::{AgentCatalog, AgentDefinition, denied_type, servers_without_tools};
use swarm_tools::prompt;

use crate::subagent::Parent;

/// Returns an error for a type that a permission rule or a definition above forbids.
pub(super) fn refuse_denied(parent: &Parent, agent_type: &str) -> Result<(), String> {
    if let Some(why) = denied_type(agent_type, &parent.parts.rights.rules()) {
        return Err(format!(
            "Agent was not called: a permission rule forbids agents of type `{agent_type}`: {why}."
        ));
    }
    match parent.tool_ceiling.type_denial(agent_type) {
        None => Ok(()),
        Some(why) => Err(format!("Agent was not called: {why}.")),
    }
}

/// Returns the definitions that an agent may use, sorted by name, so that the list is the same at
/// every call.
pub(super) fn usable<'a>(catalog: &'a AgentCatalog, parent: &Parent) -> Vec<&'a AgentDefinition> {
    let mut usable: Vec<_> = catalog
        .winners()
        .filter(|definition| refuse_denied(parent, &definition.name).is_ok())
        .filter(|definition| missing_servers(definition, &parent.tool_names).is_empty())
        .collect();
    usable.sort_by(|one, two| one.name.cmp(&two.name));
    usable
}

/// Returns the MCP servers that a definition requires and that provide no tools.
pub(crate) fn missing_servers<'a>(
    definition: &'a AgentDefinition,
    tool_names: &[String],
) -> Vec<&'a str> {
    servers_without_tools(definition, tool_names.iter().map(String::as_str))
}

pub(super) fn description(types: &[&AgentDefinition], forks: bool) -> String {
    let context = if forks {
        prompt!("tools/Agent-context-fork")
    } else {
        prompt!("tools/Agent-context")
    };
    prompt!("tools/Agent")
        .replace("{context}", context)
        .replace("{types}", &list(types))
}

/// Returns the description of the tool for a coordinator, which starts workers with it.
pub(super) fn describe_to_coordinator(types: &[&AgentDefinition]) -> String {
    prompt!("tools/Agent-coordinator").replace("{types}", &list(types))
}

fn list(types: &[&AgentDefinition]) -> String {
    let lines: Vec<String> = types
        .iter()
        .map(|definition| {
            let words = definition.description.split_whitespace();
            format!(
                "- {}: {}",
                definition.name,
                words.collect::<Vec<_>>().join(" ")
            )
        })
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n\nTypes for `subagent_type`:\n{}", lines.join("\n"))
    }
}

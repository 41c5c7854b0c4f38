//! What a model is told of the agents that it may start.

use swarm_policy::{AgentCatalog, AgentDefinition, denied_type, servers_without_tools};

use crate::subagent::Parent;

/// Refuses a type that a permission rule or a definition above forbids.
pub(super) fn refuse_denied(parent: &Parent, agent_type: &str) -> Result<(), String> {
    if let Some(why) = denied_type(agent_type, &parent.parts.rights.rules()) {
        return Err(format!(
            "Agent was not called: a permission rule forbids agents of type `{agent_type}`: {why}."
        ));
    }
    match parent.tool_ceiling.bars_type(agent_type) {
        None => Ok(()),
        Some(why) => Err(format!("Agent was not called: {why}.")),
    }
}

/// The definitions that an agent may use, by name: the same list at every call.
pub(super) fn usable<'a>(catalog: &'a AgentCatalog, parent: &Parent) -> Vec<&'a AgentDefinition> {
    let mut usable: Vec<_> = catalog
        .winners()
        .filter(|definition| refuse_denied(parent, &definition.name).is_ok())
        .filter(|definition| missing_servers(definition, &parent.tool_names).is_empty())
        .collect();
    usable.sort_by(|one, two| one.name.cmp(&two.name));
    usable
}

/// The MCP servers that a definition needs and that have given no tool.
pub(crate) fn missing_servers<'a>(
    definition: &'a AgentDefinition,
    tool_names: &[String],
) -> Vec<&'a str> {
    servers_without_tools(definition, tool_names.iter().map(String::as_str))
}

/// The description of the tool.
pub(super) fn description(types: &[&AgentDefinition], forks: bool) -> String {
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
    let types = if lines.is_empty() {
        String::new()
    } else {
        format!("\n\nTypes for `subagent_type`:\n{}", lines.join("\n"))
    };
    let knows = if forks {
        "Without `subagent_type` it is a fork: it remembers this whole conversation, so `prompt` says only what it is \
         to do of it, and it costs little, since the model server remembers it too. With `subagent_type` or `name` it \
         knows nothing of your conversation, so `prompt` must say everything it needs: the goal, the files, what to \
         hand back."
    } else {
        "It knows nothing of your conversation, so `prompt` must say everything it needs: the goal, the files, what to \
         hand back."
    };
    format!(
        "Starts another agent for one piece of work. {knows}\n\
         \n\
         Without `name` it is a sub-agent: it works out of sight, and what it says at the end is the result of this call. \
         Several of these calls in one message run side by side. With `run_in_background` the call returns at once and \
         you are told when the agent ends; do not wait or ask for it. A sub-agent that has ended is taken up again by a \
         message to its id.\n\
         \n\
         With `name` it is a teammate: a separate agent with its own conversation, working beside you in its own pane, \
         that others reach by that name with SendMessage. The call returns once the teammate is ready, not when its work \
         is done; its results reach you as messages by themselves, so do not wait or ask for them.{types}"
    )
}

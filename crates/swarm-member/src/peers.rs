//! Description of the other members of a team, for one of them.

use swarm_permissions::AgentCatalog;
use swarm_protocol::{Member, MemberName};

/// Maximum characters of a description.
const DESCRIPTION: usize = 100;

/// Lists the members except `reader`, each with its type and its purpose: `team-lead, alice
/// (reviewer: Reviews changes)`.
pub(crate) fn peers(members: &[Member], reader: &MemberName, agents: &AgentCatalog) -> String {
    let others = members.iter().filter(|member| member.name != *reader);
    let others: Vec<String> = others
        .map(|member| match &member.agent_type {
            Some(kind) if !member.name.is_lead() => {
                format!("{} ({})", member.name, role(kind, agents))
            }
            _ => member.name.to_string(),
        })
        .collect();
    if others.is_empty() {
        return "none".to_owned();
    }
    others.join(", ")
}

/// Formats a type with the first sentence of its description, if any.
fn role(kind: &str, agents: &AgentCatalog) -> String {
    let definition = agents.find(kind);
    let description = definition.map_or("", |definition| definition.description.trim());
    let sentence = description
        .split_once(". ")
        .map_or(description, |(first, _)| first);
    let sentence = sentence.trim_end_matches('.');
    if sentence.is_empty() {
        return kind.to_owned();
    }
    let mut short: String = sentence.chars().take(DESCRIPTION).collect();
    if short.len() < sentence.len() {
        short.push('…');
    }
    format!("{kind}: {short}")
}

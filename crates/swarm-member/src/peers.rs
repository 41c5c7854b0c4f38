//! The other members of a team, as one of them is told.

use swarm_permissions::AgentCatalog;
use swarm_protocol::{Member, MemberName};

/// Characters of a description.
const DESCRIPTION: usize = 100;

/// The members but `reader`, each with its type and what that type is for: `team-lead, alice
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

/// A type, and the first sentence of its description where there is one.
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

//! The other members of a team, for one of them.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_agent::{SpawnRequest, Spawned, TeammateStatus, Teammates, only_the_lead_spawns};
use swarm_permissions::AgentCatalog;
use swarm_protocol::{AgentId, Member, MemberName, shortened};
use swarm_team::{MemberContext, ReceiverStatus};

/// The other members for a teammate, which only sees them.
#[derive(Debug)]
pub(crate) struct TeammatePeers(pub(crate) Arc<MemberContext>);

#[async_trait]
impl Teammates for TeammatePeers {
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String> {
        Err(only_the_lead_spawns(&request.name))
    }

    async fn list(&self) -> Result<Vec<TeammateStatus>, String> {
        other_members(&self.0).await
    }

    async fn stop(&self, name: &MemberName) -> Result<String, String> {
        Err(format!(
            "{name} was not stopped: only the team lead can stop members. Send a request to team-lead with SendMessage"
        ))
    }
}

/// Returns the other members of a member's team with their states; empty without a team. The error
/// is for the model.
pub(crate) async fn other_members(context: &MemberContext) -> Result<Vec<TeammateStatus>, String> {
    let Some(team) = context.team() else {
        return Ok(Vec::new());
    };
    let views = team.member_view().await;
    let views = views.map_err(|error| error.to_string())?;
    let others = views.iter().filter(|view| view.member.name != context.name);
    let statuses = others.map(|view| {
        let status = ReceiverStatus::of(view, false);
        TeammateStatus {
            agent_id: AgentId::new(view.member.name.clone(), team.name().clone()),
            agent_type: view
                .member
                .agent_type
                .clone()
                .filter(|_| !view.member.name.is_lead()),
            state: status.state,
            since: status.since,
            detail: status.detail_for_model(context.handoff_scan()),
        }
    });
    Ok(statuses.collect())
}

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
    format!("{kind}: {}", shortened(sentence, DESCRIPTION))
}

//! The order a child is given.

use std::collections::BTreeMap;

use swarm_protocol::{
    AgentId, Member, PermissionMode, SessionId, SpawnId, TeamName, UnixMs, WorktreeReport,
};
use swarm_team::SpawnOrder;
use swarm_worktree::{Created, MergeMode};

use super::SpawnOptions;
use crate::{Deployment, LeadError};

/// The mode a member gets: what was asked for, if the ceiling covers it.
pub(super) fn mode(
    deployment: &Deployment,
    options: &SpawnOptions,
) -> Result<PermissionMode, LeadError> {
    let asked = options.mode.unwrap_or(deployment.mode);
    if deployment.ceiling.covers(asked) {
        return Ok(asked);
    }
    Err(LeadError::AboveCeiling {
        member: options.name.clone(),
        asked,
        ceiling: deployment.ceiling,
    })
}

/// The full name of the model a member gets. One that was not named for this spawn stands in the roster, which other
/// programs write too, so it is read like one that somebody names.
pub(super) fn model(deployment: &Deployment, options: &SpawnOptions) -> Result<String, LeadError> {
    let Some(named) = &options.model else {
        return Ok(deployment.model.clone());
    };
    (deployment.resolve_model)(named).map_err(|reason| LeadError::Model {
        member: options.name.clone(),
        reason,
    })
}

/// The variables that mark a member's processes and tell its programs who they work for.
pub(super) fn marks(
    deployment: &Deployment,
    agent: &AgentId,
    spawn_id: SpawnId,
) -> BTreeMap<String, String> {
    BTreeMap::from([
        (
            "CLAUDE_CONFIG_DIR".to_owned(),
            deployment.root.display().to_string(),
        ),
        ("SWARM_TEAM".to_owned(), agent.team.to_string()),
        ("SWARM_NAME".to_owned(), agent.name.to_string()),
        ("SWARM_AGENT_ID".to_owned(), agent.to_string()),
        ("SWARM_SPAWN_ID".to_owned(), spawn_id.to_string()),
    ])
}

pub(super) struct Values {
    pub(super) spawn_id: SpawnId,
    pub(super) model: String,
    pub(super) mode: PermissionMode,
    pub(super) session_id: SessionId,
    pub(super) deadline: UnixMs,
    pub(super) worktree: Option<Created>,
}

/// Where the child must find itself.
fn ordered(created: &Created) -> WorktreeReport {
    WorktreeReport {
        toplevel: created.record.path.clone(),
        branch: created.branch.clone(),
        head: created.head.clone(),
    }
}

pub(super) fn build(
    deployment: &Deployment,
    team: &TeamName,
    options: &SpawnOptions,
    member: &Member,
    values: Values,
) -> SpawnOrder {
    let agent = AgentId::new(options.name.clone(), team.clone());
    let mut env = deployment.shell_env.clone();
    env.extend(options.env.clone());
    if let Some(created) = &values.worktree {
        created.record.extend_env(&mut env);
    }
    env.extend(marks(deployment, &agent, values.spawn_id));
    SpawnOrder {
        spawn_id: values.spawn_id,
        color: member.known_color(),
        agent,
        agent_type: options.agent_type.clone(),
        definition: options
            .agent_type
            .as_deref()
            .and_then(|name| deployment.equipment.agents.find(name))
            .cloned(),
        equipment: (*deployment.equipment).clone(),
        cwd: options.cwd.clone(),
        worktree: values.worktree.as_ref().map(ordered),
        merges: deployment.worktrees.settings().merge == MergeMode::Auto,
        model: values.model,
        mode: values.mode,
        allow: deployment.rules.allow.clone(),
        deny: deployment.rules.deny.clone(),
        ask: deployment.rules.ask.clone(),
        session_id: values.session_id,
        instructions: Vec::new(),
        env,
        provider: deployment.provider.clone(),
        limits: deployment.limits,
        color_output: deployment.color_output,
        pace: deployment.pace,
        version: deployment.version.clone(),
        deadline: values.deadline,
    }
}

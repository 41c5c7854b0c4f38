//! The order a child is given.

use std::collections::BTreeMap;

use swarm_policy::{AgentDefinition, ChosenModel};
use swarm_protocol::{
    AgentId, Member, PermissionMode, SessionId, SpawnId, TeamName, UnixMs, WorktreeReport,
};
use swarm_team::SpawnOrder;
use swarm_worktree::{Created, MergeMode};

use super::SpawnOptions;
use crate::Deployment;

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
    pub(super) model: ChosenModel,
    pub(super) definition: Option<AgentDefinition>,
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
        definition: values.definition,
        equipment: (*deployment.equipment).clone(),
        cwd: options.cwd.clone(),
        worktree: values.worktree.as_ref().map(ordered),
        merges: deployment.worktrees.settings().merge == MergeMode::Auto,
        model: values.model.written,
        model_source: Some(values.model.source),
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

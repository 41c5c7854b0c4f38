//! The order that a child process receives.

use std::collections::BTreeMap;
use std::path::Path;

use swarm_permissions::{AgentConfig, AgentDefinition, Anchors, ChosenModel};
use swarm_protocol::{
    AgentId, Member, ROOT_VARIABLE, RuleText, SPAWN_MARK, SessionId, SpawnId, TeamName, UnixMs,
    WorktreeReport,
};
use swarm_store::VerifyKey;
use swarm_team::{RuntimeOrder, SpawnOrder};
use swarm_worktree::{Created, MergeMode, Resident, worktree_notice};

use super::SpawnOptions;
use super::kind::MemberModes;
use crate::SpawnContext;

/// Environment variables that identify a member's processes.
pub(super) fn marks(
    spawn_context: &SpawnContext,
    agent: &AgentId,
    spawn_id: SpawnId,
) -> BTreeMap<String, String> {
    BTreeMap::from([
        (
            ROOT_VARIABLE.to_owned(),
            spawn_context.root.display().to_string(),
        ),
        ("SWARM_TEAM".to_owned(), agent.team.to_string()),
        ("SWARM_NAME".to_owned(), agent.name.to_string()),
        ("SWARM_AGENT_ID".to_owned(), agent.to_string()),
        (SPAWN_MARK.to_owned(), spawn_id.to_string()),
    ])
}

pub(super) struct Values {
    pub(super) spawn_id: SpawnId,
    pub(super) agent_config: AgentConfig,
    pub(super) runtime: Option<RuntimeOrder>,
    pub(super) model: ChosenModel,
    pub(super) definition: Option<AgentDefinition>,
    pub(super) modes: MemberModes,
    pub(super) session_id: SessionId,
    pub(super) deadline: UnixMs,
    pub(super) worktree: Option<Created>,
    /// Permission rules of the whole team.
    pub(super) team_rules: Vec<RuleText>,
    /// The team's public key.
    pub(super) verify_key: Option<VerifyKey>,
}

/// Working directory and worktree that the child must verify.
fn ordered(created: &Created) -> WorktreeReport {
    WorktreeReport {
        toplevel: created.record.path.clone(),
        branch: created.branch.clone(),
        head: created.head.clone(),
    }
}

/// Returns the root of directory-based rules of the actor. They apply there also for a member in
/// another directory, and in a worktree as in its checkout.
fn anchors(spawn_context: &SpawnContext, cwd: &Path, created: Option<&Created>) -> Anchors {
    let actor = &spawn_context.cwd;
    let Some(created) = created else {
        return if cwd == actor {
            Anchors::default()
        } else {
            Anchors::NONE.below(actor, None)
        };
    };
    let record = &created.record;
    let original = match created.cwd.strip_prefix(&record.path) {
        Ok(rest) => record.from.components().chain(rest.components()).collect(),
        Err(_) => record.from.clone(),
    };
    let there = if original == *actor {
        Anchors::default()
    } else {
        Anchors::NONE.below(actor, None)
    };
    there.below(&original, Some(&created.cwd))
}

pub(super) fn build(
    spawn_context: &SpawnContext,
    team: &TeamName,
    options: &SpawnOptions,
    member: &Member,
    values: Values,
) -> SpawnOrder {
    let agent = AgentId::new(options.name.clone(), team.clone());
    let settings = spawn_context.worktrees.settings();
    let mut env = spawn_context.shell_env.clone();
    env.extend(options.env.clone());
    if let Some(created) = &values.worktree {
        created.record.extend_env(&mut env);
    }
    env.extend(marks(spawn_context, &agent, values.spawn_id));
    let mut agent_config = values.agent_config;
    let mut definition = values.definition;
    if let Some(effort) = options.effort {
        agent_config.requests.effort = Some(effort);
        if let Some(definition) = &mut definition {
            definition.effort = Some(effort.name().to_owned());
        }
    }
    SpawnOrder {
        spawn_id: values.spawn_id,
        color: member.known_color(),
        agent,
        agent_type: options.agent_type.clone(),
        definition,
        agent_config,
        cwd: options.cwd.clone(),
        worktree: values.worktree.as_ref().map(ordered),
        merges: settings.merge == MergeMode::Auto,
        // Strings, paths and lists always serialize; for a path that is not UTF-8 the default
        // settings apply.
        worktree_settings: serde_json::to_value(settings).unwrap_or_default(),
        runtime: values.runtime,
        model: values.model.written,
        model_source: Some(values.model.source),
        mode: values.modes.mode,
        ceiling: values.modes.ceiling,
        plan_required: values.modes.plan,
        work_mode: values.modes.work,
        allow: [spawn_context.rules.allow.clone(), values.team_rules].concat(),
        deny: spawn_context.rules.deny.clone(),
        ask: spawn_context.rules.ask.clone(),
        anchors: anchors(spawn_context, &options.cwd, values.worktree.as_ref()),
        session_id: values.session_id,
        instructions: values
            .worktree
            .iter()
            .map(|created| worktree_notice(created, Resident::Teammate(settings.merge)))
            .collect(),
        env,
        provider: spawn_context.provider.clone(),
        limits: spawn_context.limits,
        verify_key: values.verify_key,
        color_output: spawn_context.color_output,
        bell: spawn_context.bell,
        answer_in_place: spawn_context.answer_in_place,
        pace: spawn_context.pace,
        version: spawn_context.version.clone(),
        deadline: values.deadline,
    }
}

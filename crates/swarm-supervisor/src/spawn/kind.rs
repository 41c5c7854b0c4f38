//! Definition, mode and model of a member from its agent type.

use swarm_permissions::{
    AgentDefinition, Behavior, ChosenModel, ModelSource, Rule, RuleSet, choose_mode, hidden_type,
};
use swarm_protocol::{AgentProgram, PermissionMode};
use swarm_team::RuntimeOrder;

use super::SpawnOptions;
use crate::{LeadError, SpawnContext};

/// Returns the definition of the requested type, if any.
///
/// # Errors
/// [`LeadError::UnknownType`], and [`LeadError::TypeNotToBeHad`] where a rule denies it or a server is missing.
pub(super) fn definition<'a>(
    spawn_context: &'a SpawnContext,
    options: &SpawnOptions,
) -> Result<Option<&'a AgentDefinition>, LeadError> {
    let Some(asked) = options.agent_type.as_deref() else {
        return Ok(None);
    };
    let agents = &spawn_context.agent_config.agents;
    let Some(definition) = agents.find(asked) else {
        // Without loaded definitions only the default type exists.
        if asked == GENERAL {
            return Ok(None);
        }
        let mut known: Vec<_> = agents.winners().map(|one| one.name.clone()).collect();
        known.sort_unstable();
        return Err(LeadError::UnknownType {
            member: options.name.clone(),
            asked: asked.to_owned(),
            known,
        });
    };
    let mut rules = RuleSet::default();
    for text in &spawn_context.rules.deny {
        if let Ok(rule) = Rule::parse(&text.rule) {
            rules.add(Behavior::Deny, rule, text.origin.clone());
        }
    }
    match hidden_type(definition, &rules, &spawn_context.agent_config.mcp) {
        Some(why) => Err(LeadError::TypeNotToBeHad {
            member: options.name.clone(),
            asked: definition.name.clone(),
            why,
        }),
        None => Ok(Some(definition)),
    }
}

/// Type of a member without a requested type.
const GENERAL: &str = "general-purpose";

/// Permission modes of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberModes {
    /// Initial mode.
    pub(super) mode: PermissionMode,
    /// Highest mode.
    pub(super) ceiling: PermissionMode,
    /// Mode after its plan is approved; otherwise equal to `mode`.
    pub(super) work: PermissionMode,
    /// Whether its plan requires approval.
    pub(super) plan: bool,
}

/// Returns the modes of a member.
///
/// # Errors
/// As [`work_mode`].
pub(super) fn modes(
    spawn_context: &SpawnContext,
    options: &SpawnOptions,
) -> Result<MemberModes, LeadError> {
    use PermissionMode::{Default, Plan};
    let lesser = |one: PermissionMode, other| if one.covers(other) { other } else { one };
    let work = work_mode(spawn_context, options)?;
    let definition = definition(spawn_context, options)?;
    let defined = definition.and_then(|definition| definition.permission_mode);
    let ceiling = match defined {
        Some(defined) if defined != Plan => lesser(spawn_context.ceiling, defined),
        _ => spawn_context.ceiling,
    };
    let plan = [options.mode, defined, Some(work)].contains(&Some(Plan)) || options.plan;
    Ok(MemberModes {
        mode: if plan { Plan } else { work },
        ceiling,
        work: if work == Plan {
            lesser(ceiling, Default)
        } else {
            work
        },
        plan,
    })
}

/// Returns the mode a member works in: the strictest of its parent's, its definition's and the
/// requested one. A requested mode above the others is an error, because the member could not do
/// its work.
fn work_mode(
    spawn_context: &SpawnContext,
    options: &SpawnOptions,
) -> Result<PermissionMode, LeadError> {
    let options_mode = options.mode.filter(|mode| *mode != PermissionMode::Plan);
    let parent = match options_mode {
        Some(_) => spawn_context.ceiling,
        None => spawn_context.mode,
    };
    let above = |asked, ceiling| LeadError::AboveCeiling {
        member: options.name.clone(),
        asked,
        ceiling,
    };
    if let Some(asked) = options_mode
        && !spawn_context.ceiling.covers(asked)
    {
        return Err(above(asked, spawn_context.ceiling));
    }
    let definition = definition(spawn_context, options)?;
    // A definition in plan mode does not determine the mode after approval.
    let keeps_planning = options_mode.is_some() && !options.plan;
    let defined = definition
        .and_then(|definition| definition.permission_mode)
        .filter(|mode| *mode != PermissionMode::Plan || keeps_planning);
    let chosen = choose_mode(parent, defined, options_mode);
    match (chosen.call_lowered, definition) {
        (Some(asked), Some(definition)) => Err(LeadError::AboveDefinition {
            member: options.name.clone(),
            asked,
            agent_type: definition.name.clone(),
            mode: chosen.mode,
        }),
        _ => Ok(chosen.mode),
    }
}

/// Returns the agent program of a member, resolved; `None` for swarm's own turn loop.
///
/// # Errors
/// [`LeadError::Runtime`] if the program cannot be started here, or would not get what was asked for.
pub(super) fn runtime(
    spawn_context: &SpawnContext,
    options: &SpawnOptions,
) -> Result<Option<RuntimeOrder>, LeadError> {
    let program = options.runtime.clone().unwrap_or_default();
    if program.is_swarm() {
        return Ok(None);
    }
    let refused = |reason| LeadError::Runtime {
        member: options.name.clone(),
        reason,
    };
    if let (AgentProgram::Acp(_), Some(model)) = (&program, &options.model) {
        return Err(refused(format!(
            "the agent program {program} chooses its own model: omit model `{model}`"
        )));
    }
    let servers = definition(spawn_context, options)?.map(|definition| &definition.mcp_servers);
    if servers.is_some_and(|servers| !servers.is_empty()) {
        return Err(refused(format!(
            "its definition has `mcpServers`, which the agent program {program} does not get from swarm: configure \
             them in the program, and use a definition without them"
        )));
    }
    (spawn_context.resolve_runtime)(&program, &options.cwd)
        .map(Some)
        .map_err(refused)
}

/// Returns the full name of a member's model and its source; with another agent program, its label.
/// A model from the roster is validated
/// like a requested one, because other programs can write the roster.
pub(super) fn model(
    spawn_context: &SpawnContext,
    options: &SpawnOptions,
) -> Result<ChosenModel, LeadError> {
    let program = options.runtime.clone().unwrap_or_default();
    if let Some(written) = program.model_label(options.model.as_deref()) {
        return Ok(ChosenModel {
            written,
            source: ModelSource::Call,
        });
    }
    let definition = definition(spawn_context, options)?;
    spawn_context
        .member_model(options.model.as_deref(), definition)
        .map_err(|reason| LeadError::Model {
            member: options.name.clone(),
            reason,
        })
}

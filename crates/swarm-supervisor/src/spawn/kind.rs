//! What a member is to be by its type: definition, mode and model.

use swarm_permissions::{
    AgentDefinition, Behavior, ChosenModel, Rule, RuleSet, choose_mode, hidden_type,
};
use swarm_protocol::PermissionMode;

use super::SpawnOptions;
use crate::{LeadError, SpawnContext};

/// The definition of the type that is asked for, if one is.
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
        // Nothing is defined where nothing was looked for; the general type is what a member without one is.
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

/// The type of a member that has no other.
const GENERAL: &str = "general-purpose";

/// The modes of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberModes {
    /// The one that it starts in.
    pub(super) mode: PermissionMode,
    /// The one that it never rises above.
    pub(super) ceiling: PermissionMode,
    /// The one in which it carries out an approved plan, else the same as `mode`.
    pub(super) work: PermissionMode,
    /// Whether it has to have a plan approved first.
    pub(super) plan: bool,
}

/// The modes that a member gets.
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

/// The mode a member works in: the strictest of its parent's, its definition's and the one that was asked for. One that
/// was asked for and is more than that is refused, since the member could not do what it is for.
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
    // A definition that plans first leaves open in which mode the plan is carried out.
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

/// The full name of the model a member gets, and who chose it. One that was not named for this spawn stands in the
/// roster, which other programs write too, so it is read like one that somebody names.
pub(super) fn model(
    spawn_context: &SpawnContext,
    options: &SpawnOptions,
) -> Result<ChosenModel, LeadError> {
    let definition = definition(spawn_context, options)?;
    spawn_context
        .member_model(options.model.as_deref(), definition)
        .map_err(|reason| LeadError::Model {
            member: options.name.clone(),
            reason,
        })
}

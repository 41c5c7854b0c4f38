//! What a member is to be by its type: definition, mode and model.

use swarm_policy::{
    AgentDefinition, Behavior, ChosenModel, Rule, RuleSet, choose_mode, hidden_type,
};
use swarm_protocol::PermissionMode;

use super::SpawnOptions;
use crate::{Deployment, LeadError};

/// The definition of the type that is asked for, if one is.
///
/// # Errors
/// [`LeadError::UnknownType`], and [`LeadError::TypeNotToBeHad`] where a rule denies it or a server is missing.
pub(super) fn definition<'a>(
    deployment: &'a Deployment,
    options: &SpawnOptions,
) -> Result<Option<&'a AgentDefinition>, LeadError> {
    let Some(asked) = options.agent_type.as_deref() else {
        return Ok(None);
    };
    let agents = &deployment.agent_config.agents;
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
    for text in &deployment.rules.deny {
        if let Ok(rule) = Rule::parse(&text.rule) {
            rules.add(Behavior::Deny, rule, text.origin.clone());
        }
    }
    match hidden_type(definition, &rules, &deployment.agent_config.mcp) {
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

/// The mode a member gets: the strictest of its parent's, its definition's and the one that was asked for. One that was
/// asked for and is more than that is refused, since the member could not do what it is for.
pub(super) fn mode(
    deployment: &Deployment,
    options: &SpawnOptions,
) -> Result<PermissionMode, LeadError> {
    let parent = match options.mode {
        Some(_) => deployment.ceiling,
        None => deployment.mode,
    };
    let above = |asked, ceiling| LeadError::AboveCeiling {
        member: options.name.clone(),
        asked,
        ceiling,
    };
    if let Some(asked) = options.mode
        && !deployment.ceiling.covers(asked)
    {
        return Err(above(asked, deployment.ceiling));
    }
    let definition = definition(deployment, options)?;
    let chosen = choose_mode(
        parent,
        definition.and_then(|definition| definition.permission_mode),
        options.mode,
    );
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
    deployment: &Deployment,
    options: &SpawnOptions,
) -> Result<ChosenModel, LeadError> {
    let definition = definition(deployment, options)?;
    deployment
        .member_model(options.model.as_deref(), definition)
        .map_err(|reason| LeadError::Model {
            member: options.name.clone(),
            reason,
        })
}

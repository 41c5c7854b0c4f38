//! Definition, permissions, model and agent program of a member.

use swarm_permissions::{AgentDefinition, ChosenModel, ModelSource, choose_mode, hidden_type};
use swarm_protocol::{AgentProgram, PermissionMode};
use swarm_team::{MemberPermissions, RuntimeOrder};

use super::SpawnOptions;
use crate::{LeadError, SpawnContext, SpawnError};

/// Type of a member without a requested type.
const GENERAL: &str = "general-purpose";

impl SpawnContext {
    /// Returns the definition of the requested type, if any.
    ///
    /// # Errors
    /// [`SpawnError::UnknownType`], and [`SpawnError::TypeUnavailable`] where a rule denies it or a
    /// server is missing.
    pub(super) fn definition_of(
        &self,
        options: &SpawnOptions,
    ) -> Result<Option<&AgentDefinition>, LeadError> {
        let Some(asked) = options.member.agent_type.as_deref() else {
            return Ok(None);
        };
        let agents = &self.definition.config.agents;
        let Some(definition) = agents.find(asked) else {
            // Without loaded definitions only the default type exists.
            if asked == GENERAL {
                return Ok(None);
            }
            let mut known: Vec<_> = agents.winners().map(|one| one.name.clone()).collect();
            known.sort_unstable();
            let asked = asked.to_owned();
            return Err(SpawnError::UnknownType { asked, known }.of(&options.name));
        };
        let rules = &self.permissions.rules;
        match hidden_type(definition, rules, &self.definition.config.mcp) {
            Some(why) => {
                let asked = definition.name.clone();
                Err(SpawnError::TypeUnavailable { asked, why }.of(&options.name))
            }
            None => Ok(Some(definition)),
        }
    }

    /// Returns the permissions of a member, with the inherited rules.
    ///
    /// # Errors
    /// As [`Self::work_mode`].
    pub(super) fn permissions_of(
        &self,
        options: &SpawnOptions,
    ) -> Result<MemberPermissions, LeadError> {
        use PermissionMode::{Default, Plan};
        let lesser = |one: PermissionMode, other| if one.covers(other) { other } else { one };
        let work = self.work_mode(options)?;
        let definition = self.definition_of(options)?;
        let defined = definition.and_then(|definition| definition.permission_mode);
        let own = &self.permissions;
        let ceiling = match defined {
            Some(defined) if defined != Plan => lesser(own.ceiling, defined),
            _ => own.ceiling,
        };
        let plan =
            [options.member.mode, defined, Some(work)].contains(&Some(Plan)) || options.member.plan;
        Ok(MemberPermissions {
            mode: if plan { Plan } else { work },
            ceiling,
            work_mode: if work == Plan {
                lesser(ceiling, Default)
            } else {
                work
            },
            plan_required: plan,
            rules: own.rules.clone(),
            anchors: own.anchors.clone(),
            verify_key: own.verify_key.clone(),
            answer_in_place: own.answer_in_place,
        })
    }

    /// Returns the mode a member works in: the strictest of its parent's, its definition's and the
    /// requested one. A requested mode above the others is an error, because the member could not do
    /// its work.
    fn work_mode(&self, options: &SpawnOptions) -> Result<PermissionMode, LeadError> {
        let options_mode = options
            .member
            .mode
            .filter(|mode| *mode != PermissionMode::Plan);
        let parent = match options_mode {
            Some(_) => self.permissions.ceiling,
            None => self.permissions.mode,
        };
        let ceiling = self.permissions.ceiling;
        if let Some(asked) = options_mode
            && !ceiling.covers(asked)
        {
            return Err(SpawnError::AboveCeiling { asked, ceiling }.of(&options.name));
        }
        let definition = self.definition_of(options)?;
        // A definition in plan mode does not determine the mode after approval.
        let keeps_planning = options_mode.is_some() && !options.member.plan;
        let defined = definition
            .and_then(|definition| definition.permission_mode)
            .filter(|mode| *mode != PermissionMode::Plan || keeps_planning);
        let chosen = choose_mode(parent, defined, options_mode);
        match (chosen.call_lowered, definition) {
            (Some(asked), Some(definition)) => {
                let (agent_type, mode) = (definition.name.clone(), chosen.mode);
                let above = SpawnError::AboveDefinition {
                    asked,
                    agent_type,
                    mode,
                };
                Err(above.of(&options.name))
            }
            _ => Ok(chosen.mode),
        }
    }

    /// Returns the agent program of a member, resolved; `None` for swarm's own turn loop.
    ///
    /// # Errors
    /// [`SpawnError::Runtime`] if the program cannot be started here, or would not get what was asked
    /// for.
    pub(super) fn program_of(
        &self,
        options: &SpawnOptions,
    ) -> Result<Option<RuntimeOrder>, LeadError> {
        let program = options.member.runtime.clone().unwrap_or_default();
        if program.is_swarm() {
            return Ok(None);
        }
        let refused = |reason| SpawnError::Runtime(reason).of(&options.name);
        if let (AgentProgram::Acp(_), Some(model)) = (&program, &options.member.model) {
            return Err(refused(format!(
                "the agent program {program} chooses its own model: omit model `{model}`"
            )));
        }
        (self.resolve_runtime)(&program, &options.cwd)
            .map(Some)
            .map_err(refused)
    }

    /// Returns the full name of a member's model and its source; with another agent program, its
    /// label. A model from the roster is validated like a requested one, because other programs can
    /// write the roster.
    pub(super) fn model_of(&self, options: &SpawnOptions) -> Result<ChosenModel, LeadError> {
        let program = options.member.runtime.clone().unwrap_or_default();
        if let Some(written) = program.model_label(options.member.model.as_deref()) {
            return Ok(ChosenModel {
                written,
                source: ModelSource::Call,
            });
        }
        let definition = self.definition_of(options)?;
        self.member_model(options.member.model.as_deref(), definition)
            .map_err(|reason| SpawnError::Model(reason).of(&options.name))
    }
}

//! A sub-agent as a model asked for it.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_permissions::{AgentDefinition, Isolation, RuleSet};
use swarm_protocol::{Effort, PermissionMode};

use crate::fork::Origin;

/// What a call of the Agent tool asks for. Its definition is found; nothing else is checked against rights or bounds.
#[derive(Debug, Clone)]
pub(crate) struct SubAgentRequest {
    /// What it is.
    pub(crate) definition: AgentDefinition,
    /// The name that the call gives it; without one its name is its type and a number.
    pub(crate) name: Option<String>,
    /// What it begins with, if it is a fork.
    pub(crate) origin: Option<Arc<Origin>>,
    /// Its first message.
    pub(crate) prompt: String,
    /// Its work in a few words.
    pub(crate) description: String,
    /// The model that the call names.
    pub(crate) model: Option<String>,
    /// How hard the call wants it to think.
    pub(crate) effort: Option<Effort>,
    /// A mode that the call names; only a stricter one than the parent's changes anything.
    pub(crate) mode: Option<PermissionMode>,
    /// Rules of its own besides its parent's and its definition's: what a skill that it follows allows.
    pub(crate) granted: RuleSet,
    /// Whether its parent goes on beside it.
    pub(crate) background: bool,
    /// Where it works, if not where its parent does.
    pub(crate) cwd: Option<PathBuf>,
    /// Where its files are.
    pub(crate) isolation: Option<Isolation>,
    /// The call.
    pub(crate) tool_use_id: String,
}

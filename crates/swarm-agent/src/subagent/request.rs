//! A model's request for a sub-agent.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_permissions::{AgentDefinition, Isolation, RuleSet};
use swarm_protocol::{Effort, PermissionMode};

use crate::fork::Origin;

/// A call of the Agent tool. Its definition is resolved; permissions and limits are not checked
/// yet.
#[derive(Debug, Clone)]
pub(crate) struct SubAgentRequest {
    /// Definition of the sub-agent.
    pub(crate) definition: AgentDefinition,
    /// Name from the call; by default the type and a number.
    pub(crate) name: Option<String>,
    /// The conversation of its parent, if it is a fork.
    pub(crate) origin: Option<Arc<Origin>>,
    /// First message to the sub-agent.
    pub(crate) prompt: String,
    /// Summary of its work in a few words.
    pub(crate) description: String,
    /// Model from the call.
    pub(crate) model: Option<String>,
    /// Effort from the call.
    pub(crate) effort: Option<Effort>,
    /// Permission mode from the call; it has no effect unless it is stricter than the parent's.
    pub(crate) mode: Option<PermissionMode>,
    /// Additional rules, granted by a skill that it follows.
    pub(crate) granted: RuleSet,
    /// Whether its parent continues while it runs.
    pub(crate) background: bool,
    /// Working directory, if different from its parent's.
    pub(crate) cwd: Option<PathBuf>,
    /// Isolation of its files.
    pub(crate) isolation: Option<Isolation>,
    /// Id of the call.
    pub(crate) tool_use_id: String,
}

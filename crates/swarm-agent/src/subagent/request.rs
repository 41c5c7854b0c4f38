//! A model's request for a sub-agent.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use swarm_permissions::{AgentDefinition, Isolation, RuleSet};
use swarm_protocol::{Effort, PermissionMode};

use crate::fork::Origin;

/// A call of the Agent tool. Its definition is resolved; permissions and limits are not checked
/// yet.
#[derive(Debug, Clone)]
pub(crate) struct SubAgentRequest {
    pub(crate) definition: AgentDefinition,
    /// Name from the call; by default the type and a number.
    pub(crate) name: Option<String>,
    /// The conversation of its parent, if it is a fork.
    pub(crate) origin: Option<Arc<Origin>>,
    /// First message to the sub-agent.
    pub(crate) prompt: String,
    /// Summary of its work in a few words.
    pub(crate) description: String,
    /// Additional rules, granted by a skill that it follows.
    pub(crate) granted: RuleSet,
    /// Whether its parent continues while it runs.
    pub(crate) background: bool,
    pub(crate) settings: CallSettings,
}

/// The settings of a call that the description of its sub-agent repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallSettings {
    pub(crate) tool_use_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Has no effect unless it is stricter than the parent's mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<PermissionMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) effort: Option<Effort>,
    /// Working directory, if different from its parent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) isolation: Option<Isolation>,
}

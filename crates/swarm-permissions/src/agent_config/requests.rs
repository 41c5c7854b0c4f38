//! What agents ask of their models beside the conversation.

use serde::{Deserialize, Serialize};
use swarm_protocol::{CacheLifetime, Effort, Thinking};

use super::AgentDefinition;

/// What the requests of all agents of a process ask for, unless a definition or a call says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestSettings {
    /// Whether models think before they answer.
    pub thinking: Thinking,
    /// How hard they think; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// How long the provider's prompt cache keeps requests, where the provider lets one choose.
    pub cache: CacheLifetime,
    /// The full name of the model that answers while the agents' own one is overloaded.
    pub fallback: Option<String>,
}

impl RequestSettings {
    /// The effort of an agent with this definition.
    pub fn effort_of(&self, definition: Option<&AgentDefinition>) -> Option<Effort> {
        let own = definition.and_then(|definition| definition.effort.as_deref());
        own.and_then(|word| word.parse().ok()).or(self.effort)
    }
}

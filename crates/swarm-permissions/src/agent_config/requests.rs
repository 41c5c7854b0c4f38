//! Options of model requests.

use serde::{Deserialize, Serialize};
use swarm_protocol::{CacheLifetime, Effort, Thinking};

use super::AgentDefinition;

/// The options of all model requests of a process, unless a definition or call overrides them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestSettings {
    /// Whether models think before they answer.
    pub thinking: Thinking,
    /// Reasoning effort; `None` uses the model's default.
    pub effort: Option<Effort>,
    /// Lifetime of the provider's prompt cache, if the provider supports the choice.
    pub cache: CacheLifetime,
    /// The full name of the model used while an agent's own model is overloaded.
    pub fallback: Option<String>,
}

impl RequestSettings {
    /// Returns the effort of an agent with this definition.
    pub fn effort_of(&self, definition: Option<&AgentDefinition>) -> Option<Effort> {
        let own = definition.and_then(|definition| definition.effort.as_deref());
        own.and_then(|word| word.parse().ok()).or(self.effort)
    }
}

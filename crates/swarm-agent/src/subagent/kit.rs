//! What the sub-agents of a process are made from.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_mcp::McpServers;
use swarm_model::Model;
use swarm_permissions::AgentConfig;
use swarm_protocol::Clock;
use swarm_tools::BackgroundCommands;

use super::Isolator;
use crate::HostFacts;

/// A model that is ready to be asked.
#[derive(Debug, Clone)]
pub struct ReadyModel {
    /// Its client.
    pub client: Arc<dyn Model>,
    /// Its id at its provider.
    pub name: String,
    /// Tokens of its context window; `None` where it is not known.
    pub window: Option<u64>,
    /// Output tokens of one response; `None` where the model's limit is not known.
    pub max_output: Option<u32>,
}

/// Makes clients of models. One for a process, since only the program knows addresses, keys and short names.
pub trait ModelFactory: Send + Sync + fmt::Debug {
    /// The model of a name as people and models write it. The error is for the model: what is wrong with the name, or
    /// who does not allow it.
    fn model(&self, name: &str) -> Result<ReadyModel, String>;
}

/// What the sub-agents of a process are made from, beside what their parents hand down.
#[derive(Clone)]
pub struct SubAgentKit {
    /// Definitions, and the bounds of sub-agents.
    pub agent_config: Arc<AgentConfig>,
    /// The full name of the model of the process's agent.
    pub model: String,
    /// Where clients of models come from.
    pub models: Arc<dyn ModelFactory>,
    /// Who makes isolated directories; nobody can where it is absent.
    pub isolator: Option<Arc<dyn Isolator>>,
    /// The MCP servers of the process, and where those of a sub-agent's own come from.
    pub servers: Option<Arc<McpServers>>,
    /// The commands that the agent of the process has in the background.
    pub commands: Arc<BackgroundCommands>,
    /// Time for transcripts.
    pub clock: Arc<dyn Clock>,
    /// The config directory of all state, below which memories are.
    pub root: PathBuf,
    /// The machine, for system prompts.
    pub host: HostFacts,
}

impl fmt::Debug for SubAgentKit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubAgentKit")
            .field("limits", &self.agent_config.limits)
            .finish_non_exhaustive()
    }
}

/// For processes in which sub-agents have their parent's model alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOtherModels;

impl ModelFactory for NoOtherModels {
    fn model(&self, name: &str) -> Result<ReadyModel, String> {
        Err(format!("model {name} is not to be had here"))
    }
}

//! Shared components of the sub-agents of a process.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_mcp::McpServers;
use swarm_model::Model;
use swarm_permissions::AgentConfig;
use swarm_protocol::{Clock, partial_debug};
use swarm_tools::BackgroundCommands;

use crate::HostFacts;
use crate::worktree::WorktreeIsolator;

/// A model and its client.
#[derive(Debug, Clone)]
pub struct ReadyModel {
    /// Client of the model.
    pub client: Arc<dyn Model>,
    /// Id of the model at its provider.
    pub name: String,
    /// Tokens of the context window; `None` if unknown.
    pub window: Option<u64>,
    /// Output limit of one response in tokens; `None` if unknown.
    pub max_output: Option<u32>,
}

/// Creates model clients. One factory per process, because addresses, keys and short names belong
/// to the program.
pub trait ModelFactory: Send + Sync + fmt::Debug {
    /// Returns the model with a name as people and models write it. The error is for the model:
    /// what is wrong with the name, or which setting forbids it.
    fn model(&self, name: &str) -> Result<ReadyModel, String>;
}

/// The components that the sub-agents of a process share, besides those they inherit from their
/// parents.
#[derive(Clone)]
pub struct SubAgentServices {
    /// Definitions, and the limits of sub-agents.
    pub agent_config: Arc<AgentConfig>,
    /// Full name of the model of the process's agent.
    pub model: String,
    /// Creates model clients.
    pub models: Arc<dyn ModelFactory>,
    /// Creates worktrees for sub-agents; `None` if they are not available.
    pub isolator: Option<WorktreeIsolator>,
    /// MCP servers of the process; also starts the servers of a sub-agent's definition.
    pub servers: Option<Arc<McpServers>>,
    /// Background commands of the process's agent.
    pub commands: Arc<BackgroundCommands>,
    /// Time source for transcripts.
    pub clock: Arc<dyn Clock>,
    /// Config directory, which contains the memories.
    pub root: PathBuf,
    /// Facts about the machine for system prompts.
    pub host: HostFacts,
}

partial_debug!(SubAgentServices: limits = agent_config.limits);

/// A factory for processes in which sub-agents always use their parent's model.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOtherModels;

impl ModelFactory for NoOtherModels {
    fn model(&self, name: &str) -> Result<ReadyModel, String> {
        Err(format!("model {name} is not available here"))
    }
}

//! Failures of a teammate.

use swarm_agent::{AgentError, SkillError};
use swarm_os::OsError;
use swarm_store::StoreError;
use swarm_team::OrderError;

/// A failure that stops the process.
#[derive(Debug, thiserror::Error)]
pub enum TeammateError {
    /// The team's files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The life lock.
    #[error("life lock: {0}")]
    Life(#[from] OsError),
    /// The order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The transcript.
    #[error(transparent)]
    Engine(#[from] AgentError),
    /// A skill of its definition.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// MCP servers that its type needs.
    #[error(
        "agent type `{agent_type}` needs MCP servers that are not available: {}{why}",
        missing.join(", ")
    )]
    Servers {
        /// The type.
        agent_type: String,
        /// What it needs and has no tool of.
        missing: Vec<String>,
        /// What became of the servers, in brackets; empty where nothing is known.
        why: String,
    },
    /// A blocking step was lost.
    #[error("a blocking operation was aborted: {0}")]
    Join(#[from] tokio::task::JoinError),
}

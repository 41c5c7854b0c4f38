//! How a teammate ends, and its errors.

use swarm_agent::{AgentError, SkillError};
use swarm_store::StoreError;
use swarm_team::OrderError;

/// An error that stops the process.
#[derive(Debug, thiserror::Error)]
pub enum TeammateError {
    /// The team's files are unusable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The life lock cannot be taken.
    #[error("life lock: {0}")]
    Life(#[source] StoreError),
    /// The order is unusable.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The transcript is unusable.
    #[error(transparent)]
    Engine(#[from] AgentError),
    /// A skill of its definition is unusable.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// MCP servers that its type needs are missing.
    #[error(
        "agent type `{agent_type}` needs MCP servers that are not available: {}{why}",
        missing.join(", ")
    )]
    Servers {
        /// The agent type.
        agent_type: String,
        /// The required servers without tools.
        missing: Vec<String>,
        /// Failures of the servers, in brackets; empty if unknown.
        why: String,
    },
    /// A blocking operation was aborted.
    #[error("a blocking operation was aborted: {0}")]
    Join(#[from] tokio::task::JoinError),
}

/// How a teammate stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It agreed to a shutdown request.
    ShutDown,
    /// The process was asked to stop.
    Terminated,
    /// Its spawn was cancelled before it began.
    NotWanted,
    /// The process that led its team is gone, and the member was configured to stop then.
    LeadLost,
    /// Its team or its roster entry is gone.
    Removed,
}

impl Ending {
    /// Returns the reason for `SessionEnd` hooks.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::ShutDown => "shutdown",
            Self::Terminated => "terminated",
            Self::LeadLost => "lead_lost",
            Self::Removed | Self::NotWanted => "removed",
        }
    }
}

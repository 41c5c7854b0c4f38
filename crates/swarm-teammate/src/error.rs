//! Why a teammate cannot go on.

use swarm_engine::EngineError;
use swarm_fs::FsError;
use swarm_store::StoreError;
use swarm_team::OrderError;

/// A failure that ends the process.
#[derive(Debug, thiserror::Error)]
pub enum TeammateError {
    /// The team's files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The life lock.
    #[error("life lock: {0}")]
    Life(#[from] FsError),
    /// The order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The transcript.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A skill of its definition is not there.
    #[error("the agent type {agent_type} names the skill `{}`: {looked}", .skill.escape_debug())]
    Skill {
        /// The type.
        agent_type: String,
        /// The skill.
        skill: String,
        /// What was looked for.
        looked: String,
    },
    /// A blocking step was lost.
    #[error("a step of the program was cut off: {0}")]
    Join(#[from] tokio::task::JoinError),
}

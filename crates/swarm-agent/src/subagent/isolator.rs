//! Isolated directories for sub-agents.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_protocol::SubAgentId;
use tokio_util::sync::CancellationToken;

/// The isolated directory of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolatedDirectory {
    /// Working directory of the sub-agent, at or below `root`.
    pub path: PathBuf,
    /// Top of the isolated directory; the sub-agent writes nothing outside it.
    pub root: PathBuf,
    /// Git branch that is checked out in it, if any.
    pub branch: Option<String>,
    /// Text for the sub-agent after its prompt; may be empty.
    pub notice: String,
    /// Content that exists nowhere else, after the sub-agent has ended.
    pub holds: Vec<String>,
}

/// Creates and removes the directories of sub-agents with `isolation: worktree`.
#[async_trait]
pub trait Isolator: Send + Sync + fmt::Debug {
    /// Creates a directory for a sub-agent whose parent works in `from`, or finds its existing one.
    /// The error is for the model.
    async fn prepare(
        &self,
        id: &SubAgentId,
        from: &std::path::Path,
        cancel: CancellationToken,
    ) -> Result<IsolatedDirectory, String>;

    /// Removes the directory of a sub-agent that has ended, unless its content would be lost.
    /// Returns the directory if it was kept.
    async fn clean_up(
        &self,
        id: &SubAgentId,
        directory: IsolatedDirectory,
    ) -> Option<IsolatedDirectory>;
}

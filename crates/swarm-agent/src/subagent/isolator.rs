//! Directories in which sub-agents disturb nobody.

use std::fmt;
use std::path::PathBuf;

use async_trait::async_trait;
use swarm_protocol::SubAgentId;
use tokio_util::sync::CancellationToken;

/// A directory of a sub-agent's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolatedDirectory {
    /// Where the sub-agent works in it.
    pub path: PathBuf,
    /// The whole of it, outside of which nothing is written.
    pub root: PathBuf,
    /// The git branch that is checked out in it.
    pub branch: Option<String>,
    /// What the sub-agent is to be told of it, behind its prompt; may be empty.
    pub notice: String,
    /// What is in it that is nowhere else, once the sub-agent has ended.
    pub holds: Vec<String>,
}

/// Makes and clears away the directories of sub-agents with `isolation: worktree`.
#[async_trait]
pub trait Isolator: Send + Sync + fmt::Debug {
    /// Makes a directory for a sub-agent whose parent works in `from`, or finds the one that it had. The error is for the
    /// model.
    async fn prepare(
        &self,
        id: &SubAgentId,
        from: &std::path::Path,
        cancel: CancellationToken,
    ) -> Result<IsolatedDirectory, String>;

    /// The sub-agent has ended: removes the directory if nothing in it would be lost. What is kept is returned.
    async fn clean_up(
        &self,
        id: &SubAgentId,
        directory: IsolatedDirectory,
    ) -> Option<IsolatedDirectory>;
}

//! Errors of orders for nodes.

use swarm_protocol::{ErrorKind, NodeName, TeamName};
use swarm_store::StoreError;
use swarm_worktree::WorktreeError;

use crate::repositories::RepositoryError;

/// Why a node has not carried out an order.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The repository was not sent.
    #[error("the repository was not sent to the node: {0}")]
    Repository(#[from] RepositoryError),
    /// The team is in files.
    #[error("team `{0}` is not on a hub, so it has no nodes")]
    NoHub(TeamName),
    /// No node has the name or label.
    #[error("no node has the name or label `{wanted}`; {}", known(.nodes))]
    Unknown {
        /// The name or label.
        wanted: String,
        /// All nodes with their states.
        nodes: Vec<String>,
    },
    /// The nodes with the name or label take no order.
    #[error("no node for `{wanted}` takes a member now: {}", .nodes.join(", "))]
    Unavailable {
        /// The name or label.
        wanted: String,
        /// The nodes with their states.
        nodes: Vec<String>,
    },
    /// No node takes an order. These are all nodes with their states.
    #[error("no node takes a member now; {}", known(.0))]
    NoneAvailable(Vec<String>),
    /// The node is gone, and has not begun.
    #[error("node {0} was lost before it took the order: nothing was done")]
    LostBefore(NodeName),
    /// The node is gone, and its process had begun.
    #[error("node {0} was lost while it carried out the order, which is not repeated")]
    LostDuring(NodeName),
    /// Another command has withdrawn the order before the node took it.
    #[error("node {0} had not begun when another command replaced the order: nothing was done")]
    Replaced(NodeName),
    /// The node has not taken the order. It is withdrawn.
    #[error("node {node} did not take the order within {waited_s} s: nothing was done")]
    NotTaken {
        /// The node.
        node: NodeName,
        /// Seconds.
        waited_s: u64,
    },
    /// The node has not finished the order, also after it was withdrawn.
    #[error("node {node} did not finish the order within {waited_s} s")]
    NotFinished {
        /// The node.
        node: NodeName,
        /// Seconds.
        waited_s: u64,
    },
    /// The caller cancelled it before the node took it.
    #[error("interrupted: node {0} had not begun")]
    Interrupted(NodeName),
}

impl NodeError {
    /// Returns its category.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) | Self::Repository(RepositoryError::Store(error)) => error.kind(),
            Self::Repository(RepositoryError::Worktree(error)) => error.kind(),
            Self::NoHub(_) => ErrorKind::Usage,
            Self::Unknown { .. } => ErrorKind::NotFound,
            Self::Unavailable { .. } | Self::NoneAvailable(_) | Self::Replaced(_) => {
                ErrorKind::Conflict
            }
            Self::LostBefore(_) | Self::LostDuring(_) => ErrorKind::Environment,
            Self::NotTaken { .. } | Self::NotFinished { .. } => ErrorKind::TimedOut,
            Self::Interrupted(_) => ErrorKind::Interrupted,
        }
    }

    /// Returns a suggestion, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) | Self::Repository(RepositoryError::Store(error)) => {
                return error.hint();
            }
            Self::Repository(RepositoryError::Worktree(WorktreeError::Uncommitted { .. })) => {
                "with `worktree.uncommitted = \"leave\"`, the node gets the last commit without them".to_owned()
            }
            Self::NoHub(_) => {
                "omit `--on`, or create a team with `swarm team create NAME --hub URL`".to_owned()
            }
            Self::Unknown { nodes, .. } | Self::NoneAvailable(nodes) if nodes.is_empty() => {
                "run `swarm node join URL` on a machine that runs members".to_owned()
            }
            Self::Unknown { .. } | Self::Unavailable { .. } | Self::NoneAvailable(_) => {
                "`swarm node list` shows the nodes".to_owned()
            }
            Self::LostDuring(_) => {
                "`swarm status` shows whether the member runs; then try again".to_owned()
            }
            Self::LostBefore(_) => "try again with another node".to_owned(),
            Self::NotTaken { .. } => {
                "the output of `swarm node join` there has the reason; its credentials must include the team".to_owned()
            }
            Self::NotFinished { .. } => {
                "it was asked to cancel it; `swarm status` shows whether the member runs".to_owned()
            }
            Self::Repository(RepositoryError::Worktree(_))
            | Self::Replaced(_)
            | Self::Interrupted(_) => {
                return None;
            }
        })
    }
}

fn known(nodes: &[String]) -> String {
    if nodes.is_empty() {
        return "no node has joined the hub".to_owned();
    }
    format!("nodes: {}", nodes.join(", "))
}

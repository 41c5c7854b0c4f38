//! The tools that move an agent into a worktree and back.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_tools::Tool;

use super::WorktreeIsolator;
use super::enter::EnterWorktree;
use super::exit::ExitWorktree;
use super::stay::SessionWorktree;

/// Names of the tools that move the process's agent. Only that agent has them: a sub-agent that
/// used them would move it too.
pub(crate) const MOVE_TOOLS: [&str; 2] = ["EnterWorktree", "ExitWorktree"];

/// Returns `EnterWorktree` and `ExitWorktree` for an agent that begins in `origin`. Other agents
/// that inherit these tools and work in another directory are not moved.
pub fn worktree_tools(source: WorktreeIsolator, origin: PathBuf) -> Vec<Arc<dyn Tool>> {
    let session = Arc::new(SessionWorktree {
        source,
        origin,
        entered: Mutex::default(),
    });
    vec![
        Arc::new(EnterWorktree(Arc::clone(&session))),
        Arc::new(ExitWorktree(session)),
    ]
}

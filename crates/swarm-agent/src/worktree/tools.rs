//! The tools that move an agent into a worktree and back.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::Clock;
use swarm_tools::Tool;
use swarm_worktree::{ProcessMark, Worktrees};

use super::enter::EnterWorktree;
use super::exit::ExitWorktree;
use super::stay::Stay;

/// Names of the tools that move the agent of a process. They are its alone: a sub-agent that used them would move it too.
pub(crate) const MOVING: [&str; 2] = ["EnterWorktree", "ExitWorktree"];

/// `EnterWorktree` and `ExitWorktree` for an agent that begins in `origin`. Other agents that are handed the same tools
/// and work elsewhere are not moved.
pub fn worktree_tools(
    worktrees: Worktrees,
    clock: Arc<dyn Clock>,
    process: ProcessMark,
    origin: PathBuf,
) -> Vec<Arc<dyn Tool>> {
    let place = Arc::new(Stay {
        worktrees,
        clock,
        process,
        origin,
        entered: Mutex::default(),
    });
    vec![
        Arc::new(EnterWorktree(Arc::clone(&place))),
        Arc::new(ExitWorktree(place)),
    ]
}

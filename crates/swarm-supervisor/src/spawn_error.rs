//! Why members are not spawned.

use std::path::PathBuf;
use std::time::Duration;

use swarm_protocol::{ErrorKind, PermissionMode};
use swarm_team::HelloMismatch;
use swarm_worktree::WorktreeError;

/// Why a member was not spawned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The requested worktree could not be created.
    #[error("{0}")]
    Worktree(WorktreeError),
    /// The worktree of a restarted member no longer exists.
    #[error("its worktree {} is gone. Spawn it with a worktree again, or choose another directory", .0.display())]
    WorktreeGone(PathBuf),
    /// Unknown agent type.
    #[error("agent type `{}` not found; available: {}", .asked.escape_debug(), .known.join(", "))]
    UnknownType {
        /// Requested agent type.
        asked: String,
        /// Available agent types.
        known: Vec<String>,
    },
    /// The agent type exists but cannot be used by this caller.
    #[error("agent type {asked} is not available: {why}")]
    TypeUnavailable {
        /// Agent type.
        asked: String,
        /// Reason.
        why: String,
    },
    /// The requested mode exceeds the mode of the parent.
    #[error(
        "it cannot run in mode {asked}: its parent runs in mode {ceiling}, and a child never has more rights"
    )]
    AboveCeiling {
        /// Requested mode.
        asked: PermissionMode,
        /// Highest allowed mode.
        ceiling: PermissionMode,
    },
    /// The requested mode exceeds the mode of the agent definition.
    #[error(
        "it cannot run in mode {asked}: the definition of {agent_type} limits it to {mode}. Omit the mode, or choose another type"
    )]
    AboveDefinition {
        /// Requested mode.
        asked: PermissionMode,
        /// Agent type.
        agent_type: String,
        /// Mode of the definition.
        mode: PermissionMode,
    },
    /// The model is unknown or not allowed for members.
    #[error("{0}")]
    Model(String),
    /// The agent program cannot be started here.
    #[error("{0}")]
    Runtime(String),
    /// The working directory does not exist.
    #[error("{} is not a directory", .0.display())]
    NoDirectory(PathBuf),
    /// The child exited before its hello.
    #[error("its process exited before it was ready ({how}){}", last_lines(.output))]
    EarlyExit {
        /// Exit status or signal.
        how: String,
        /// Last lines of its output.
        output: String,
    },
    /// The child sent no hello before the timeout.
    #[error("no hello within {} s{}", .waited.as_secs(), last_lines(.output))]
    NoHello {
        /// Timeout.
        waited: Duration,
        /// Last lines of its output.
        output: String,
    },
    /// The child is running without a hello, and its output ends in a prompt for input.
    #[error("no hello within {} s; a program in its pane is waiting for input. Run that program once manually, answer its prompt, and spawn again{}", .waited.as_secs(), last_lines(.output))]
    NeedsPerson {
        /// Timeout.
        waited: Duration,
        /// Last lines of its output, including the prompt.
        output: String,
    },
    /// The child runs with other values than ordered.
    #[error("{0}")]
    Mismatch(HelloMismatch),
    /// The spawn was cancelled.
    #[error("the spawn was interrupted")]
    Interrupted,
}

impl SpawnError {
    /// Returns the error kind, which determines the exit code.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Worktree(error) => error.kind(),
            Self::Runtime(_) => ErrorKind::Environment,
            Self::WorktreeGone(_) => ErrorKind::Conflict,
            Self::UnknownType { .. } => ErrorKind::NotFound,
            Self::TypeUnavailable { .. }
            | Self::AboveCeiling { .. }
            | Self::AboveDefinition { .. }
            | Self::Model(_) => ErrorKind::Refused,
            Self::NoDirectory(_) => ErrorKind::Usage,
            Self::EarlyExit { .. } | Self::Mismatch(_) => ErrorKind::AgentFailed,
            Self::NoHello { .. } | Self::NeedsPerson { .. } => ErrorKind::TimedOut,
            Self::Interrupted => ErrorKind::Interrupted,
        }
    }
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let from = lines.len().saturating_sub(5);
    if lines.is_empty() {
        String::new()
    } else {
        format!(". Its last lines:\n  {}", lines[from..].join("\n  "))
    }
}

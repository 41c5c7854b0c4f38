//! Errors of the supervisor.

use std::path::PathBuf;
use std::time::Duration;

use swarm_agent::AgentError;
use swarm_os::OsError;
use swarm_panes::PaneError;
use swarm_protocol::{ErrorKind, MemberName, NameError, PermissionMode, TeamName};
use swarm_store::StoreError;
use swarm_team::{HelloMismatch, OrderError};
use swarm_worktree::WorktreeError;

/// Error of starting, stopping or cleaning up members.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] OsError),
    /// A terminal backend failed.
    #[error(transparent)]
    Pane(#[from] PaneError),
    /// The spawn order is invalid.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The conversation could not be read.
    #[error(transparent)]
    Engine(#[from] AgentError),
    /// The requested worktree could not be created.
    #[error("{member} was not spawned: {error}")]
    Worktree {
        /// Member to spawn.
        member: MemberName,
        /// Cause.
        error: WorktreeError,
    },
    /// The worktree of a restarted member no longer exists.
    #[error("{member} was not spawned: its worktree {} is gone. Spawn it with a worktree again, or choose another directory", .path.display())]
    WorktreeGone {
        /// Member to spawn.
        member: MemberName,
        /// Path of the worktree.
        path: PathBuf,
    },
    /// Invalid name.
    #[error(transparent)]
    Name(NameError),
    /// The teammate program does not exist.
    #[error("the program swarm-teammate was not found at {}: install it next to swarm", .0.display())]
    NoProgram(PathBuf),
    /// The requested mode exceeds the mode of the parent.
    #[error(
        "{member} cannot run in mode {asked}: its parent runs in mode {ceiling}, and a child never has more rights"
    )]
    AboveCeiling {
        /// Member to spawn.
        member: MemberName,
        /// Requested mode.
        asked: PermissionMode,
        /// Highest allowed mode.
        ceiling: PermissionMode,
    },
    /// The requested mode exceeds the mode of the agent definition.
    #[error(
        "{member} cannot run in mode {asked}: the definition of {agent_type} limits it to {mode}. Omit the mode, or choose another type"
    )]
    AboveDefinition {
        /// Member to spawn.
        member: MemberName,
        /// Requested mode.
        asked: PermissionMode,
        /// Agent type.
        agent_type: String,
        /// Mode of the definition.
        mode: PermissionMode,
    },
    /// Unknown agent type.
    #[error(
        "{member} was not spawned: agent type `{}` not found; available: {}",
        .asked.escape_debug(),
        .known.join(", ")
    )]
    UnknownType {
        /// Member to spawn.
        member: MemberName,
        /// Requested agent type.
        asked: String,
        /// Available agent types.
        known: Vec<String>,
    },
    /// The agent type exists but cannot be used by this caller.
    #[error("{member} was not spawned: agent type {asked} is not available: {why}")]
    TypeNotToBeHad {
        /// Member to spawn.
        member: MemberName,
        /// Agent type.
        asked: String,
        /// Reason.
        why: String,
    },
    /// The model is unknown or not allowed for members.
    #[error("{member} was not spawned: {reason}")]
    Model {
        /// Member to spawn.
        member: MemberName,
        /// Problem of the model.
        reason: String,
    },
    /// The agent program cannot be started here.
    #[error("{member} was not spawned: {reason}")]
    Runtime {
        /// Member to spawn.
        member: MemberName,
        /// Problem of the program.
        reason: String,
    },
    /// The working directory does not exist.
    #[error("{member} was not spawned: {} is not a directory", .cwd.display())]
    NoDirectory {
        /// Member to spawn.
        member: MemberName,
        /// Requested directory.
        cwd: PathBuf,
    },
    /// The child exited before its hello.
    #[error("{member} was not spawned: its process exited before it was ready ({how}){}", last_lines(.output))]
    EarlyExit {
        /// Member to spawn.
        member: MemberName,
        /// Exit status or signal.
        how: String,
        /// Last lines of its output.
        output: String,
    },
    /// The child sent no hello before the timeout.
    #[error("{member} was not spawned: no hello within {} s{}", .waited.as_secs(), last_lines(.output))]
    NoHello {
        /// Member to spawn.
        member: MemberName,
        /// Timeout.
        waited: Duration,
        /// Last lines of its output.
        output: String,
    },
    /// The child is running without a hello, and its output ends in a prompt for input.
    #[error("{member} was not spawned: no hello within {} s; a program in its pane is waiting for input. Run that program once manually, answer its prompt, and spawn again{}", .waited.as_secs(), last_lines(.output))]
    NeedsPerson {
        /// Member to spawn.
        member: MemberName,
        /// Timeout.
        waited: Duration,
        /// Last lines of its output, including the prompt.
        output: String,
    },
    /// The child runs with other values than ordered.
    #[error("{member} was not spawned: {mismatch}")]
    Mismatch {
        /// Member to spawn.
        member: MemberName,
        /// Difference.
        mismatch: HelloMismatch,
    },
    /// The spawn was cancelled.
    #[error("{0} was not spawned: the spawn was interrupted")]
    Interrupted(MemberName),
    /// Processes of a member could not be terminated.
    #[error("{member} could not be stopped: {left} of its processes are still running")]
    StillAlive {
        /// Member that was to be stopped.
        member: MemberName,
        /// Number of remaining processes.
        left: usize,
    },
    /// The process of a member is on another machine or in another container.
    #[error(
        "{member} runs on {host}: run `swarm kill {member}` there, or `swarm shutdown {member}` here"
    )]
    Elsewhere {
        /// Member that was to be stopped.
        member: MemberName,
        /// Host of its process.
        host: String,
    },
    /// A team that had lost its lead was taken over.
    #[error("{member} was not stopped: {team} has been taken over in the meantime")]
    TakenOver {
        /// The team.
        team: TeamName,
        /// Member that was to be stopped.
        member: MemberName,
    },
    /// The operation does not support members of other programs.
    #[error(
        "{0} belongs to another program, did not agree to stop, and its process is not known: stop it in that program, then run `swarm team remove {0}`"
    )]
    Foreign(MemberName),
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

impl LeadError {
    /// Returns whether another process did not release a lock in time, or a hub did not carry out a
    /// change in time.
    pub fn is_lock_timeout(&self) -> bool {
        match self {
            LeadError::Store(StoreError::Fs(error)) | LeadError::Fs(error) => {
                matches!(error, OsError::LockTimeout { .. })
            }
            LeadError::Store(error) => {
                matches!(
                    error,
                    StoreError::HubSilent(_) | StoreError::Contended { .. }
                )
            }
            _ => false,
        }
    }

    /// Returns the error kind, which determines the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            LeadError::Store(error) => error.kind(),
            LeadError::Pane(error) => error.kind(),
            LeadError::Worktree { error, .. } => error.kind(),
            LeadError::NoProgram(_)
            | LeadError::Runtime { .. }
            | LeadError::Engine(AgentError::Transcript { .. }) => ErrorKind::Environment,
            LeadError::TakenOver { .. } | LeadError::WorktreeGone { .. } => ErrorKind::Conflict,
            LeadError::UnknownType { .. } => ErrorKind::NotFound,
            LeadError::AboveDefinition { .. }
            | LeadError::TypeNotToBeHad { .. }
            | LeadError::AboveCeiling { .. }
            | LeadError::Model { .. }
            | LeadError::Elsewhere { .. }
            | LeadError::Foreign(_) => ErrorKind::Refused,
            LeadError::Name(_) | LeadError::NoDirectory { .. } => ErrorKind::Usage,
            LeadError::EarlyExit { .. } | LeadError::Mismatch { .. } | LeadError::Engine(_) => {
                ErrorKind::AgentFailed
            }
            LeadError::NoHello { .. } | LeadError::NeedsPerson { .. } => ErrorKind::TimedOut,
            LeadError::Interrupted(_) => ErrorKind::Interrupted,
            LeadError::StillAlive { .. } | LeadError::Fs(_) | LeadError::Order(_) => {
                ErrorKind::Internal
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_that_does_not_answer_in_time_is_like_a_lock_that_is_not_released() {
        let silent = StoreError::HubSilent("nats://hub".to_owned());
        assert!(LeadError::Store(silent).is_lock_timeout());
        let missing = LeadError::NoProgram(PathBuf::from("swarm"));
        assert!(!missing.is_lock_timeout());
    }
}

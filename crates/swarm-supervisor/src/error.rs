//! Errors of the supervisor.

use std::path::PathBuf;

use swarm_agent::AgentError;
use swarm_os::OsError;
use swarm_panes::PaneError;
use swarm_protocol::{ErrorKind, MemberName, NameError, TeamName};
use swarm_store::StoreError;
use swarm_team::OrderError;

use crate::SpawnError;

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
    /// A member was not spawned.
    #[error("{member} was not spawned: {why}")]
    NotSpawned {
        /// Member to spawn.
        member: MemberName,
        /// Reason.
        why: SpawnError,
    },
    /// Invalid name.
    #[error(transparent)]
    Name(NameError),
    /// The teammate program does not exist.
    #[error("the program swarm-teammate was not found at {}: install it next to swarm", .0.display())]
    NoProgram(PathBuf),
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
    /// A member on another machine or in another container did not stop when it was asked to. Its
    /// process cannot be terminated from here.
    #[error(
        "{member} runs on {host} and has not stopped yet; it was asked to, and `swarm kill {member}` {place} stops it immediately"
    )]
    NotStoppedElsewhere {
        /// Member that was to be stopped.
        member: MemberName,
        /// Host of its process.
        host: String,
        /// Where `swarm kill` works: `here` if a node there carries it out, otherwise `there`.
        place: &'static str,
    },
    /// A member has stopped, but its roster entry could not be removed: another process holds a lock.
    #[error("{sentence}, but its roster entry remains: {why}")]
    Unrecorded {
        /// Member that has stopped.
        member: MemberName,
        /// How it has stopped, as in lists.
        outcome: &'static str,
        /// The same as a sentence.
        sentence: String,
        /// Why the entry remains.
        why: Box<LeadError>,
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

impl SpawnError {
    /// Returns the error of a spawn of this member.
    pub fn of(self, member: &MemberName) -> LeadError {
        LeadError::NotSpawned {
            member: member.clone(),
            why: self,
        }
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
            LeadError::Unrecorded { .. } => true,
            _ => false,
        }
    }

    /// Returns the error kind, which determines the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            LeadError::Store(error) => error.kind(),
            LeadError::Pane(error) => error.kind(),
            LeadError::NotSpawned { why, .. } => why.kind(),
            LeadError::Unrecorded { why, .. } => why.kind(),
            LeadError::NoProgram(_) | LeadError::Engine(AgentError::Transcript { .. }) => {
                ErrorKind::Environment
            }
            LeadError::TakenOver { .. } => ErrorKind::Conflict,
            LeadError::Elsewhere { .. } | LeadError::Foreign(_) => ErrorKind::Refused,
            LeadError::NotStoppedElsewhere { .. } => ErrorKind::TimedOut,
            LeadError::Name(_) => ErrorKind::Usage,
            LeadError::Engine(_) => ErrorKind::AgentFailed,
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

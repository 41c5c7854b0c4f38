//! What can go wrong while leading.

use std::path::PathBuf;
use std::time::Duration;

use swarm_agent::AgentError;
use swarm_os::OsError;
use swarm_panes::PaneError;
use swarm_protocol::{ErrorKind, MemberName, NameError, PermissionMode, TeamName};
use swarm_store::StoreError;
use swarm_team::{HelloMismatch, OrderError};
use swarm_worktree::WorktreeError;

/// A failure of the lead or of a command that acts for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeadError {
    /// The team's files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk.
    #[error(transparent)]
    Fs(#[from] OsError),
    /// The terminal.
    #[error(transparent)]
    Pane(#[from] PaneError),
    /// The order of a spawn.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The conversation.
    #[error(transparent)]
    Engine(#[from] AgentError),
    /// The worktree that was asked for.
    #[error("{member} was not spawned: {error}")]
    Worktree {
        /// Who was to be spawned.
        member: MemberName,
        /// What is in the way.
        error: WorktreeError,
    },
    /// The worktree in which a member worked is no longer there.
    #[error("{member} was not spawned: its worktree {} is gone. Spawn it with a worktree again, or choose another directory", .path.display())]
    WorktreeGone {
        /// Who was to be spawned.
        member: MemberName,
        /// Where it was.
        path: PathBuf,
    },
    /// A name that cannot be used.
    #[error(transparent)]
    Name(NameError),
    /// The program of teammates is not there.
    #[error("the program swarm-teammate was not found at {}: install it next to swarm", .0.display())]
    NoProgram(PathBuf),
    /// More rights were asked for than the asker has.
    #[error(
        "{member} cannot run in mode {asked}: its parent runs in mode {ceiling}, and a child never has more rights"
    )]
    AboveCeiling {
        /// Who was to be spawned.
        member: MemberName,
        /// The mode that was asked for.
        asked: PermissionMode,
        /// The most it may have.
        ceiling: PermissionMode,
    },
    /// The definition gives less than the call asks for.
    #[error(
        "{member} cannot run in mode {asked}: the definition of {agent_type} limits it to {mode}. Omit the mode, or choose another type"
    )]
    AboveDefinition {
        /// Who was to be spawned.
        member: MemberName,
        /// The mode that was asked for.
        asked: PermissionMode,
        /// The type.
        agent_type: String,
        /// The mode it would get.
        mode: PermissionMode,
    },
    /// There is no such type.
    #[error(
        "{member} was not spawned: agent type `{}` not found; available: {}",
        .asked.escape_debug(),
        .known.join(", ")
    )]
    UnknownType {
        /// Who was to be spawned.
        member: MemberName,
        /// The type that was asked for.
        asked: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The type is there, but not for this asker.
    #[error("{member} was not spawned: agent type {asked} is not available: {why}")]
    TypeNotToBeHad {
        /// Who was to be spawned.
        member: MemberName,
        /// The type.
        asked: String,
        /// Why not.
        why: String,
    },
    /// The model is none, or not one that members may have.
    #[error("{member} was not spawned: {reason}")]
    Model {
        /// Who was to be spawned.
        member: MemberName,
        /// What is wrong with the model.
        reason: String,
    },
    /// The working directory is not there.
    #[error("{member} was not spawned: {} is not a directory", .cwd.display())]
    NoDirectory {
        /// Who was to be spawned.
        member: MemberName,
        /// What was given.
        cwd: PathBuf,
    },
    /// The child ended before it said hello.
    #[error("{member} was not spawned: its process exited before it was ready ({how}){}", last_lines(.output))]
    EarlyExit {
        /// Who was to be spawned.
        member: MemberName,
        /// Exit status or signal.
        how: String,
        /// The last lines it printed.
        output: String,
    },
    /// The child said nothing in time.
    #[error("{member} was not spawned: no hello within {} s{}", .waited.as_secs(), last_lines(.output))]
    NoHello {
        /// Who was to be spawned.
        member: MemberName,
        /// How long it was waited for.
        waited: Duration,
        /// The last lines it printed.
        output: String,
    },
    /// The child lives, said no hello, and stands in an unfinished line: it asks a person something.
    #[error("{member} was not spawned: no hello within {} s; a program in its pane is waiting for input. Run that program once manually, answer its prompt, and spawn again{}", .waited.as_secs(), last_lines(.output))]
    NeedsPerson {
        /// Who was to be spawned.
        member: MemberName,
        /// How long it was waited for.
        waited: Duration,
        /// The last lines it printed, the prompt at their end.
        output: String,
    },
    /// The child runs with other values than ordered.
    #[error("{member} was not spawned: {mismatch}")]
    Mismatch {
        /// Who was to be spawned.
        member: MemberName,
        /// The difference.
        mismatch: HelloMismatch,
    },
    /// The spawn was cut off.
    #[error("{0} was not spawned: the spawn was interrupted")]
    Interrupted(MemberName),
    /// A process could not be ended.
    #[error("{member} could not be stopped: {left} of its processes are still running")]
    StillAlive {
        /// Who.
        member: MemberName,
        /// How many processes are left.
        left: usize,
    },
    /// A team that was without a lead has been taken over.
    #[error("{member} was not stopped: {team} has been taken over in the meantime")]
    TakenOver {
        /// Which team.
        team: TeamName,
        /// Who was to be ended.
        member: MemberName,
    },
    /// Members of other programs cannot be handled so.
    #[error("{0} belongs to another program and its process is not known: stop it in that program")]
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
    /// The kind, which gives the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            LeadError::Store(error) => error.kind(),
            LeadError::Pane(error) => error.kind(),
            LeadError::Worktree { error, .. } => error.kind(),
            LeadError::NoProgram(_) | LeadError::Engine(AgentError::Transcript { .. }) => {
                ErrorKind::Environment
            }
            LeadError::TakenOver { .. } | LeadError::WorktreeGone { .. } => ErrorKind::Conflict,
            LeadError::UnknownType { .. } => ErrorKind::NotFound,
            LeadError::AboveDefinition { .. }
            | LeadError::TypeNotToBeHad { .. }
            | LeadError::AboveCeiling { .. }
            | LeadError::Model { .. }
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

//! What went wrong, as scripts see it: the exit code and the word in JSON errors.

use serde::Serialize;

/// Exit code of `swarm`, fixed by the contract in `docs/formats.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExitCode(pub u8);

/// The kind of a failure. Each maps to one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A defect or an I/O failure without a better name.
    Internal,
    /// Wrong arguments, bad names included.
    Usage,
    /// No such team, member, task or request.
    NotFound,
    /// Exists already, taken, blocked, already answered, or not yours.
    Conflict,
    /// Refused by permission, policy, cap, budget, or by the agent.
    Refused,
    /// A deadline passed.
    TimedOut,
    /// Something outside is missing: tmux, git, a terminal, a key.
    Environment,
    /// Data on disk cannot be read; it was kept aside.
    Damaged,
    /// The agent failed with an error of its own.
    AgentFailed,
    /// A person interrupted.
    Interrupted,
}

impl ErrorKind {
    /// The exit code of this kind.
    pub fn exit_code(self) -> ExitCode {
        ExitCode(match self {
            ErrorKind::Internal => 1,
            ErrorKind::Usage => 2,
            ErrorKind::NotFound => 3,
            ErrorKind::Conflict => 4,
            ErrorKind::Refused => 5,
            ErrorKind::TimedOut => 6,
            ErrorKind::Environment => 7,
            ErrorKind::Damaged => 8,
            ErrorKind::AgentFailed => 9,
            ErrorKind::Interrupted => 130,
        })
    }
}

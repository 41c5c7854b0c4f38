//! Error categories for scripts: the exit code and the word in JSON errors. Texts of errors.

use std::error::Error;

use serde::Serialize;

/// Exit code of `swarm`, as specified in `docs/formats.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExitCode(pub u8);

/// Category of a failure. Each category has one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A defect, or an I/O failure without a more specific category.
    Internal,
    /// Invalid arguments, including invalid names.
    Usage,
    /// The team, member, task or request does not exist.
    NotFound,
    /// Already exists, taken, blocked, already answered, or owned by another member.
    Conflict,
    /// Refused by a permission, policy, limit, budget, or by the agent.
    Refused,
    /// A deadline passed.
    TimedOut,
    /// Missing environment: tmux, git, a terminal or an API key.
    Environment,
    /// Data on disk is unreadable; a copy was kept.
    Damaged,
    /// The agent failed with its own error.
    AgentFailed,
    /// Interrupted by a person.
    Interrupted,
}

impl ErrorKind {
    /// Returns the category with an exit code; for other codes [`Self::Internal`].
    pub fn of_exit_code(code: u8) -> Self {
        let all = [
            Self::Usage,
            Self::NotFound,
            Self::Conflict,
            Self::Refused,
            Self::TimedOut,
            Self::Environment,
            Self::Damaged,
            Self::AgentFailed,
            Self::Interrupted,
        ];
        let found = all.into_iter().find(|kind| kind.exit_code().0 == code);
        found.unwrap_or(Self::Internal)
    }

    /// Returns the exit code of this category.
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

/// Returns the text of an error, followed by the texts of its causes.
pub fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some errors include their cause in the message.
        if !message.contains(&said) {
            message = format!("{message}: {said}");
        }
        cause = error.source();
    }
    message
}

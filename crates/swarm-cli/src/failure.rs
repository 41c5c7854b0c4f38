//! Errors of commands: a kind, a message and a hint.

use std::io;
use std::process::ExitCode;

use serde_json::json;
use swarm_config::ConfigError;
use swarm_panes::PaneError;
use swarm_protocol::{ErrorKind, MemberName, NameError, TeamName, with_causes};
use swarm_store::StoreError;
use swarm_supervisor::{LeadError, NodeError, SpawnError};
use swarm_team::SendError;
use swarm_worktree::{SlugError, WorktreeError};

use crate::environment::raw_variable;
use crate::nearest::offer;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Error of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether a hub did not answer that was connected before or may only be slow.
    pub(crate) is_outage: bool,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            is_outage: false,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    pub(crate) fn timed_out(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::TimedOut, message)
    }

    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Environment, message)
    }

    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Interrupted, message)
    }

    /// Converts clap's message: the first paragraph becomes the message, the rest the hint.
    pub(crate) fn from_arguments(said: &str) -> Self {
        let said = said.trim().trim_start_matches("error: ");
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match said.split_once("\n\n") {
            Some((message, hint)) => Self::usage(one_line(message)).with_hint(one_line(hint)),
            None => Self::usage(one_line(said)),
        }
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the failure of a command whose working directory cannot be read.
    pub(crate) fn of_directory(error: &std::io::Error) -> Self {
        let message = format!("the working directory cannot be read: {error}");
        Self::environment(message).with_hint("change into a directory that exists")
    }

    /// Returns the failure of a command that found no team, if it runs in an agent's shell.
    pub(crate) fn of_sandbox() -> Option<Self> {
        raw_variable("SWARM_SANDBOX")?;
        let message =
            "teams cannot be seen from inside an agent's shell, because its sandbox hides them";
        Some(Self::refused(message).with_hint("use the agent's tools for messages and tasks"))
    }

    /// Adds hints that only apply to the command line; models also read the error itself.
    fn with_worktree_hint(self, error: &WorktreeError) -> Self {
        match error {
            WorktreeError::Uncommitted { .. } => {
                self.with_hint("`--snapshot` copies them to the worktree")
            }
            _ => self,
        }
    }

    /// Combines failures: the most severe kind with all messages.
    pub(crate) fn worst(mut failures: Vec<Self>) -> Option<Self> {
        failures.sort_by_key(|failure| gravity(failure.kind));
        let mut worst = failures.pop()?;
        for other in failures.into_iter().rev() {
            worst.message = format!("{}; {}", worst.message, other.message);
        }
        Some(worst)
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        let mut error = json!({
            "code": self.kind.exit_code().0,
            "kind": self.kind,
            "message": self.message,
        });
        if let Some(hint) = &self.hint {
            error["hint"] = json!(hint);
        }
        json!({ "error": error })
    }
}

/// Severity of a failure among several, for example when stopping members: a member that may still
/// be running is worse than a refusal, which is worse than a missing member.
fn gravity(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Usage => 0,
        ErrorKind::NotFound => 1,
        ErrorKind::Conflict => 2,
        ErrorKind::AgentFailed => 3,
        ErrorKind::Refused => 4,
        ErrorKind::TimedOut => 5,
        ErrorKind::Environment => 6,
        ErrorKind::Damaged => 7,
        ErrorKind::Internal => 8,
        ErrorKind::Interrupted => 9,
    }
}

/// Returns the exit code of a command: success without an error.
pub(crate) fn exit_code(error: Option<ErrorKind>) -> ExitCode {
    error.map_or(ExitCode::SUCCESS, |kind| ExitCode::from(kind.exit_code().0))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if let StoreError::TeamNotFound {
            known,
            remains: None,
            ..
        } = &error
            && known.is_empty()
            && let Some(failure) = Self::of_sandbox()
        {
            return failure;
        }
        Self {
            kind: error.kind(),
            message: with_causes(&error),
            hint: meant(&error).or_else(|| error.hint()),
            is_outage: error.is_outage(),
        }
    }
}

/// Returns the candidates, with the most similar name first.
fn meant(error: &StoreError) -> Option<String> {
    match error {
        StoreError::MemberNotFound { name, known, .. } => {
            let known = known.iter().map(MemberName::as_str);
            Some(offer(name.as_str(), "members", known))
        }
        StoreError::TeamNotFound {
            team,
            known,
            remains: None,
        } if !known.is_empty() => {
            let known = known.iter().map(TeamName::as_str);
            Some(offer(team.as_str(), "teams", known))
        }
        _ => None,
    }
}

impl From<LeadError> for Failure {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::Store(error) => error.into(),
            LeadError::Pane(error) => error.into(),
            LeadError::NotSpawned {
                why: SpawnError::Worktree(ref cause),
                ..
            } => {
                let failure = Self::new(error.kind(), with_causes(&error));
                failure.with_worktree_hint(cause)
            }
            error => Self::new(error.kind(), with_causes(&error)),
        }
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::Store(error) => error.into(),
            error => Self {
                kind: error.kind(),
                message: error.to_string(),
                hint: error.hint(),
                is_outage: false,
            },
        }
    }
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Self {
        Self::new(error.kind(), with_causes(&error)).with_worktree_hint(&error)
    }
}

impl From<SlugError> for Failure {
    fn from(error: SlugError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<PaneError> for Failure {
    fn from(error: PaneError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Store(error) => error.into(),
            error => Self::usage(error.to_string()),
        }
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self {
            kind: error.kind(),
            message: with_causes(&error),
            hint: error.hint(),
            is_outage: false,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // Permissions and disk space depend on the machine; other I/O errors are unexpected.
        let kind = match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::PermissionDenied => ErrorKind::Environment,
            _ => ErrorKind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::new(ErrorKind::Internal, error.to_string())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(ErrorKind::Internal, format!("{error:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_failure_determines_the_code_and_all_are_reported() {
        let refused = Failure::new(ErrorKind::Refused, "bob refused");
        let internal = Failure::new(ErrorKind::Internal, "ann is still alive");
        let worst = Failure::worst(vec![internal, refused]).unwrap();
        assert_eq!(worst.kind, ErrorKind::Internal);
        assert_eq!(worst.message, "ann is still alive; bob refused");
        assert!(Failure::worst(Vec::new()).is_none());
    }

    #[test]
    fn cause_is_reported_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("{text}")]
        struct Told {
            text: &'static str,
            source: io::Error,
        }
        let told = |text| {
            let source = io::Error::other("the disk is full");
            with_causes(&Told { text, source })
        };
        assert_eq!(told("no line"), "no line: the disk is full");
        for whole in ["no line: the disk is full", "the disk is full. Make room"] {
            assert_eq!(told(whole), whole);
        }
    }

    #[test]
    fn argument_errors_are_formatted_like_other_failures() {
        let said = "error: unexpected argument '--jsno' found\n\n  tip: a similar argument exists: '--json'\n\n\
                    Usage: swarm team\n";
        let error = Failure::from_arguments(said).to_json();
        assert_eq!(error["error"]["code"], 2);
        assert_eq!(
            error["error"]["message"],
            "unexpected argument '--jsno' found"
        );
        assert_eq!(
            error["error"]["hint"],
            "tip: a similar argument exists: '--json' Usage: swarm team"
        );
    }
}

//! What a command failed with: a kind, a sentence, and what to do next.

use serde_json::json;
use swarm_lead::LeadError;
use swarm_panes::PaneError;
use swarm_protocol::{ErrorKind, NameError};
use swarm_store::StoreError;
use swarm_team::SendError;

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// What the reader of arguments says: its first paragraph is the message, the others are the hint.
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

    /// The form that scripts read.
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            hint: error.hint(),
        }
    }
}

impl From<LeadError> for Failure {
    fn from(error: LeadError) -> Self {
        match error {
            LeadError::Store(error) => error.into(),
            LeadError::Pane(error) => error.into(),
            error => Self::new(error.kind(), error.to_string()),
        }
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

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
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
    fn arguments_that_make_no_sense_are_told_as_every_other_failure() {
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

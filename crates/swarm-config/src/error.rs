//! Configuration errors.

use std::fmt::Display;
use std::io;
use std::path::Path;

use swarm_protocol::ErrorKind;

/// A configuration that is unreadable, invalid or not permitted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An invalid model name.
    #[error("{0}")]
    Model(String),
    /// Another error. The message names the file, variable or setting.
    #[error("{what}")]
    Other {
        /// The kind, which determines the exit code.
        kind: ErrorKind,
        /// The message.
        what: String,
        /// The hint for the user.
        hint: Option<String>,
    },
}

impl ConfigError {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Other {
            kind,
            what: what.into(),
            hint: Some(hint.into()),
        }
    }

    pub(crate) fn invalid(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what, hint)
    }

    /// A text is not valid TOML. `place` is its file and line.
    pub(crate) fn not_toml(place: impl Display, what: impl Display) -> Self {
        Self::invalid(format!("{place}: {what}"), "fix the TOML syntax")
    }

    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new(
            ErrorKind::Environment,
            format!("cannot read the settings file {}: {error}", path.display()),
            "make the file readable or remove it",
        )
    }

    /// A setting has no built-in value, which is a bug.
    pub(crate) fn lacking(name: &str) -> Self {
        Self::Other {
            kind: ErrorKind::Internal,
            what: format!("no built-in value for the setting `{name}`"),
            hint: None,
        }
    }

    /// Combines errors; `None` for none. Kind and hint are those of the first.
    pub(crate) fn all(mut errors: Vec<Self>) -> Option<Self> {
        if errors.len() < 2 {
            return errors.pop();
        }
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        let first = errors.first()?;
        Some(Self::Other {
            kind: first.kind(),
            what: lines.join("\n"),
            hint: first.hint(),
        })
    }

    /// Returns the kind, which determines the exit code.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model(_) => ErrorKind::Usage,
            Self::Other { kind, .. } => *kind,
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Model(_) => None,
            Self::Other { hint, .. } => hint.clone(),
        }
    }
}

//! The result of one check.

use serde::Serialize;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// swarm works, but with a limitation.
    Warning,
    /// swarm cannot work with this configuration.
    Missing,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// Name of the check, in one or two words.
    pub(super) name: &'static str,
    pub(super) state: State,
    pub(super) found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl Finding {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            found: found.into(),
            hint: None,
        }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(super) fn warning(
        name: &'static str,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            state: State::Warning,
            hint: Some(hint.into()),
            ..Self::ok(name, found)
        }
    }

    pub(super) fn missing(
        name: &'static str,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            state: State::Missing,
            ..Self::warning(name, found, hint)
        }
    }
}

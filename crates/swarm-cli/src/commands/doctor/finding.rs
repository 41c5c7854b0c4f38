//! One thing that was looked at.

use serde::Serialize;

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// As it should be.
    Ok,
    /// swarm works, but somebody should know.
    Warning,
    /// swarm cannot work as it is set up.
    Missing,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at, in one or two words.
    pub(super) name: &'static str,
    /// How it is.
    pub(super) state: State,
    /// What was seen.
    pub(super) found: String,
    /// What to do about it.
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

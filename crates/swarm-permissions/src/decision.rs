//! The outcome of a permission decision.

use crate::Suggestion;

/// The decision about a call. Each `why` names the rule and its origin, or the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The call runs.
    Allow {
        /// The reason.
        why: String,
    },
    /// The call is denied; the model receives the reason.
    Deny {
        /// The reason.
        why: String,
    },
    /// A person or the lead must approve the call; without an answer it is denied.
    Ask {
        /// The reason.
        why: String,
        /// Rules that would allow such calls in future.
        suggestions: Vec<Suggestion>,
    },
}

impl Decision {
    /// Returns whether the call may run without approval.
    pub fn is_allow(&self) -> bool {
        matches!(self, Decision::Allow { .. })
    }

    /// Returns the reason.
    pub fn why(&self) -> &str {
        match self {
            Decision::Allow { why } | Decision::Deny { why } | Decision::Ask { why, .. } => why,
        }
    }
}

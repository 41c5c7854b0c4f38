//! The outcome of a permission decision.

use crate::Suggestion;

/// What happens to a call. Each `why` is a sentence that names the rule and its origin, or the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It runs.
    Allow {
        /// What allows it.
        why: String,
    },
    /// It is refused; the model reads the reason.
    Deny {
        /// What forbids it.
        why: String,
    },
    /// A person or the lead is asked; no answer means no.
    Ask {
        /// What makes it a question.
        why: String,
        /// Grants that would save the next such question.
        suggestions: Vec<Suggestion>,
    },
}

impl Decision {
    /// Whether the call may run without a question.
    pub fn is_allow(&self) -> bool {
        matches!(self, Decision::Allow { .. })
    }

    /// The reason.
    pub fn why(&self) -> &str {
        match self {
            Decision::Allow { why } | Decision::Deny { why } | Decision::Ask { why, .. } => why,
        }
    }
}

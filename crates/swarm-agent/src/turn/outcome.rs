//! How a turn ended.

use crate::{AgentError, Totals};

/// The outcome of a turn. In every case the transcript is consistent and the session can continue.
#[derive(Debug)]
pub enum TurnOutcome {
    /// The model ended its turn.
    Finished {
        /// Last text of the model in this turn.
        text: String,
        /// Usage of the turn.
        spent: Totals,
    },
    /// The turn reached its limit of model requests before the model ended it.
    TurnLimit {
        /// Description of the limit and the model's last text, for the recipient of the result.
        text: String,
        /// Usage of the turn.
        spent: Totals,
    },
    /// The turn was cancelled.
    Interrupted {
        /// Last text of the model; may be empty.
        text: String,
        /// Usage of the turn.
        spent: Totals,
    },
    /// A hook returned `continue: false`.
    StoppedByHook {
        /// Reason given by the hook.
        why: String,
        /// Last text of the model; may be empty.
        text: String,
        /// Usage of the turn.
        spent: Totals,
    },
    /// The turn was suspended and can be continued later.
    Suspended {
        /// Last text of the model; may be empty.
        text: String,
        /// Usage of the turn so far.
        spent: Totals,
    },
    /// The turn failed.
    Failed {
        /// Cause of the failure and what to do.
        error: AgentError,
        /// Last text of the model; may be empty.
        text: String,
        /// Usage of the turn.
        spent: Totals,
    },
}

impl TurnOutcome {
    /// Returns the model's last text, or the description of the limit.
    pub fn text(&self) -> &str {
        match self {
            Self::Finished { text, .. }
            | Self::TurnLimit { text, .. }
            | Self::Interrupted { text, .. }
            | Self::StoppedByHook { text, .. }
            | Self::Suspended { text, .. }
            | Self::Failed { text, .. } => text,
        }
    }

    /// Returns the name of the outcome in journals.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished { .. } => "finished",
            Self::TurnLimit { .. } => "turn_limit",
            Self::Interrupted { .. } => "interrupted",
            Self::StoppedByHook { .. } => "stopped_by_hook",
            Self::Suspended { .. } => "suspended",
            Self::Failed { .. } => "failed",
        }
    }

    /// Returns the usage of the turn.
    pub fn spent(&self) -> Totals {
        match self {
            Self::Finished { spent, .. }
            | Self::TurnLimit { spent, .. }
            | Self::Interrupted { spent, .. }
            | Self::StoppedByHook { spent, .. }
            | Self::Suspended { spent, .. }
            | Self::Failed { spent, .. } => *spent,
        }
    }

    /// Returns why the turn ended early; `None` if the model ended it or it will continue.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Finished { .. } | Self::Suspended { .. } => None,
            Self::TurnLimit { .. } => Some("the turn reached its limit of model requests".into()),
            Self::Interrupted { .. } => Some("the turn was interrupted".into()),
            Self::StoppedByHook { why, .. } => Some(format!("a hook stopped the turn: {why}")),
            Self::Failed { error, .. } => Some(error.to_string()),
        }
    }
}

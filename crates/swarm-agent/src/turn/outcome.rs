//! How a turn ended.

use crate::{AgentError, Totals};

/// The end of a turn. In every case the transcript is consistent and the session can go on.
#[derive(Debug)]
pub enum TurnOutcome {
    /// The model ended its turn.
    Finished {
        /// Its last words in this turn.
        text: String,
        /// What the turn used.
        spent: Totals,
    },
    /// The model would have gone on, but the turn had all the requests it may have.
    TurnLimit {
        /// For whoever waits for the result: what happened, and the model's last words.
        text: String,
        /// What the turn used.
        spent: Totals,
    },
    /// The turn's token fell.
    Interrupted {
        /// The model's last words before that; may be empty.
        text: String,
        /// What the turn used.
        spent: Totals,
    },
    /// A hook of the user answered `continue: false`.
    StoppedByHook {
        /// The reason that the hook gave.
        why: String,
        /// The model's last words before that; may be empty.
        text: String,
        /// What the turn used.
        spent: Totals,
    },
    /// The turn was told to stop where it stood, to be taken up again later.
    Suspended {
        /// The model's last words before that; may be empty.
        text: String,
        /// What the turn used so far.
        spent: Totals,
    },
    /// The turn could not go on.
    Failed {
        /// Why, and what to do.
        error: AgentError,
        /// The model's last words before that; may be empty.
        text: String,
        /// What the turn used.
        spent: Totals,
    },
}

impl TurnOutcome {
    /// The text to hand on.
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

    /// The word that journals use.
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

    /// What the turn used.
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

    /// What kept the model from ending its turn, in words; `None` when it did end it, or will be let to.
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

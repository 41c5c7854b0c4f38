//! How a turn ended.

use super::types::TurnStop;
use crate::Totals;

/// The outcome of a turn. In every case the transcript is consistent and the session can continue.
#[derive(Debug)]
pub struct TurnOutcome {
    /// Why the turn ended early, if the agent did not end it.
    pub end: Result<(), TurnStop>,
    /// Last text of the agent in this turn; may be empty. At the limit of model requests, a description
    /// of the limit precedes it.
    pub text: String,
    /// Usage of the turn.
    pub spent: Totals,
}

impl TurnOutcome {
    /// Returns whether the agent ended the turn.
    pub fn is_finished(&self) -> bool {
        self.end.is_ok()
    }

    /// Returns the name of the outcome in journals.
    pub fn word(&self) -> &'static str {
        match &self.end {
            Ok(()) => "finished",
            Err(TurnStop::Limit) => "turn_limit",
            Err(TurnStop::Interrupted) => "interrupted",
            Err(TurnStop::Halted(_)) => "stopped_by_hook",
            Err(TurnStop::Suspended) => "suspended",
            Err(TurnStop::Failed(_)) => "failed",
        }
    }

    /// Returns why the turn ended early; `None` if the agent ended it or it will continue.
    pub fn trouble(&self) -> Option<String> {
        match &self.end {
            Ok(()) | Err(TurnStop::Suspended) => None,
            Err(TurnStop::Limit) => Some("the turn reached its limit of model requests".into()),
            Err(TurnStop::Interrupted) => Some("the turn was interrupted".into()),
            Err(TurnStop::Halted(why)) => Some(format!("a hook stopped the turn: {why}")),
            Err(TurnStop::Failed(error)) => Some(error.to_string()),
        }
    }
}

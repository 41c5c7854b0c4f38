//! Cancelling and suspending a turn, and how it ended.

use tokio_util::sync::CancellationToken;

use crate::{Result, Session, Totals};

use super::types::TurnStop;

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
    /// The reason of a `Stop` hook that ended the turn with `continue: false`.
    pub stop_reason: Option<String>,
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

/// Tokens that end a turn from outside.
#[derive(Debug, Clone, Default)]
pub struct TurnSignals {
    /// Aborts the model's response and the running calls; the turn is over.
    pub cancel: CancellationToken,
    /// Aborts the model's response, lets running calls finish, and starts nothing new. The turn is
    /// not over: [`crate::Session::needs_turn`] returns true, and the next turn continues where it
    /// stopped.
    pub suspend: CancellationToken,
}

impl From<CancellationToken> for TurnSignals {
    fn from(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            suspend: CancellationToken::new(),
        }
    }
}

impl TurnSignals {
    /// Returns whether nothing new may start.
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.suspend.is_cancelled()
    }

    /// Resolves when nothing new may start.
    pub async fn over(&self) {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.suspend.cancelled() => {}
        }
    }
}

impl Session {
    /// Delivers pending urgent mail. It follows the results in the same user message, and is
    /// reported as delivered once it is on disk.
    ///
    /// A cancelled turn delivers nothing: the mail waits for the next turn, which can respond to
    /// it.
    pub(super) async fn interject(&mut self, signals: &TurnSignals) -> Result<()> {
        if signals.is_over() {
            return Ok(());
        }
        let mail = self.parts.interjections.between_calls().await;
        if mail.is_empty() {
            return Ok(());
        }
        let delivery = self.deliver(mail)?;
        let mut ids = delivery.added;
        ids.extend(delivery.known);
        if !ids.is_empty() {
            self.parts.interjections.delivered(&ids).await;
        }
        Ok(())
    }
}

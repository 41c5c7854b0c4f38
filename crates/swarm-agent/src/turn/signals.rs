//! Cancelling and suspending a turn.

use tokio_util::sync::CancellationToken;

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
    pub(super) async fn over(&self) {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.suspend.cancelled() => {}
        }
    }
}

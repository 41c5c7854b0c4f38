//! Ending a turn from outside.

use tokio_util::sync::CancellationToken;

/// The two ways to end a turn from outside.
#[derive(Debug, Clone, Default)]
pub struct TurnSignals {
    /// Cuts the model's answer and the running calls; the turn is over.
    pub cancel: CancellationToken,
    /// Cuts the model's answer, lets the running calls come to their end, and begins nothing more. The turn is not
    /// over: [`crate::Session::needs_turn`] still asks for it, and the next one takes it up where it stopped.
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
    /// Whether nothing more may be begun.
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.suspend.is_cancelled()
    }

    /// Resolves when nothing more may be begun.
    pub(super) async fn over(&self) {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.suspend.cancelled() => {}
        }
    }
}

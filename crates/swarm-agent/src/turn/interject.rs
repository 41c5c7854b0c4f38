//! Urgent mail between tool calls.

use super::signals::TurnSignals;
use crate::{AgentError, Session};

impl Session {
    /// Delivers pending urgent mail. It follows the results in the same user message, and is
    /// reported as delivered once it is on disk.
    ///
    /// A cancelled turn delivers nothing: the mail waits for the next turn, which can respond to
    /// it.
    pub(super) async fn interject(&mut self, signals: &TurnSignals) -> Result<(), AgentError> {
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

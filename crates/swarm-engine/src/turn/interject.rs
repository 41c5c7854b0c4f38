//! Urgent mail between tool calls.

use crate::{EngineError, Session};

impl Session {
    /// Lets in what has come. It stands behind the results in the same user message, and is reported as delivered
    /// once it is on disk.
    pub(super) async fn interject(&mut self) -> Result<(), EngineError> {
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

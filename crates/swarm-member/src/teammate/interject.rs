//! Urgent mail, let in between tool calls.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_engine::{Injected, Interjections};
use swarm_protocol::MessageId;

use crate::teammate::desk::MailDesk;

/// Takes urgent mail from the desk.
#[derive(Debug)]
pub(crate) struct UrgentMail(pub(crate) Arc<MailDesk>);

#[async_trait]
impl Interjections for UrgentMail {
    async fn between_calls(&self) -> Vec<Injected> {
        match self.0.take_urgent() {
            Ok(messages) => self.0.inject(&messages),
            Err(error) => {
                // The mail stays unread and comes again at the end of the turn.
                tracing::warn!(member = %self.0.seat.name, %error, "urgent mail not read");
                Vec::new()
            }
        }
    }

    async fn delivered(&self, ids: &[MessageId]) {
        self.0.delivered(ids.to_vec(), None);
        self.0.go_on_writing();
    }
}

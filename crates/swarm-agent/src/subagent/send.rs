//! Messages to sub-agents.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_tools::BackgroundAgents;

use super::record::Record;
use super::{SubAgentStatus, SubAgents};
use crate::Injected;
use crate::coordinator::refuse_delegated_understanding;

#[async_trait]
impl BackgroundAgents for SubAgents {
    fn knows(&self, who: &str) -> bool {
        self.find(who).is_some()
    }

    async fn send(&self, to: &str, text: &str) -> Option<Result<String, String>> {
        let record = self.find(to)?;
        if self.coordinates()
            && let Err(why) = refuse_delegated_understanding(text)
        {
            return Some(Err(format!("the message was not sent: {why}")));
        }
        Some(self.deliver_message(&record, text).await)
    }
}

impl SubAgents {
    async fn deliver_message(&self, record: &Arc<Record>, text: &str) -> Result<String, String> {
        let name = &record.name;
        if text.trim().is_empty() {
            return Err(format!("the message to {name} is empty"));
        }
        if record.queue(text) {
            return Ok(format!(
                "Message queued for {name}; it will be delivered between two tool calls."
            ));
        }
        // It is ending; the end must be complete first.
        record.until(|view| view.settled).await;
        let was = record.view().status;
        self.resume(record, vec![Injected::prompt(text)]).await?;
        let was = match was {
            SubAgentStatus::Completed => "had ended",
            SubAgentStatus::Failed => "had failed",
            SubAgentStatus::Killed | SubAgentStatus::Interrupted => "was stopped",
            SubAgentStatus::Running => "was about to end",
        };
        Ok(format!(
            "{name} {was} and was resumed in the background with your message; you will be notified when it ends."
        ))
    }
}

impl Record {
    /// Queues a message, if it still accepts mail. Returns whether it does.
    fn queue(&self, text: &str) -> bool {
        let mut live = self.live();
        if live.open {
            live.mail.push(Injected::prompt(text));
            self.came.notify_one();
        }
        live.open
    }
}

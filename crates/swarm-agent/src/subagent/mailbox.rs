//! Input for a sub-agent between its tool calls: messages, and notifications of its own sub-agents.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use swarm_protocol::MessageId;

use super::SubAgents;
use super::record::Record;
use crate::{Injected, Interjections};

/// The pending input of one sub-agent.
#[derive(Debug)]
pub(super) struct Mailbox {
    pub(super) record: Arc<Record>,
    pub(super) agents: Weak<SubAgents>,
}

#[async_trait]
impl Interjections for Mailbox {
    async fn between_calls(&self) -> Vec<Injected> {
        std::mem::take(&mut self.record.live().mail)
    }

    async fn delivered(&self, ids: &[MessageId]) {
        if let Some(agents) = self.agents.upgrade() {
            agents.mark_delivered(ids);
        }
    }
}

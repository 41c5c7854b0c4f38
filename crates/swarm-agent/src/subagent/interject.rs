//! Input between tool calls: for the agent of the process its mail and notifications of ended
//! sub-agents; for a sub-agent messages, and notifications of its own sub-agents.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use swarm_protocol::MessageId;

use super::SubAgents;
use super::record::Record;
use crate::{Injected, Interjections};

/// Urgent mail and notifications of sub-agents.
#[derive(Debug)]
pub(super) struct WithNotifications {
    pub(super) mail: Arc<dyn Interjections>,
    pub(super) agents: Weak<SubAgents>,
}

#[async_trait]
impl Interjections for WithNotifications {
    async fn between_calls(&self) -> Vec<Injected> {
        let mut came = self.mail.between_calls().await;
        if let Some(agents) = self.agents.upgrade() {
            came.extend(agents.take_notifications());
        }
        came
    }

    async fn delivered(&self, ids: &[MessageId]) {
        let Some(agents) = self.agents.upgrade() else {
            return self.mail.delivered(ids).await;
        };
        let (ours, mail): (Vec<_>, Vec<_>) = ids
            .iter()
            .cloned()
            .partition(|id| agents.is_notification(id));
        agents.mark_delivered(&ours);
        if !mail.is_empty() {
            self.mail.delivered(&mail).await;
        }
    }
}

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

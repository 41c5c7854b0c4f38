//! Delivers notifications of ended sub-agents between the tool calls of the process's agent.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::MessageId;

use super::SubAgents;
use crate::{Injected, Interjections};

/// Urgent mail and notifications of sub-agents.
#[derive(Debug)]
pub(super) struct WithNotifications {
    pub(super) mail: Arc<dyn Interjections>,
    pub(super) agents: std::sync::Weak<SubAgents>,
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

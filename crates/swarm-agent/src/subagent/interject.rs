//! The ends of sub-agents, let in between the calls of the agent of the process.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::MessageId;

use super::SubAgents;
use crate::{Injected, Interjections};

/// What comes by mail, and what comes from sub-agents.
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
        agents.told(&ours);
        if !mail.is_empty() {
            self.mail.delivered(&mail).await;
        }
    }
}

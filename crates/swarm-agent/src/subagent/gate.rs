//! Permission requests of a sub-agent, which its parent's gate decides.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_protocol::SubAgentId;
use tokio_util::sync::CancellationToken;

use swarm_permissions::{PermissionOutcome, PermissionRequest};

use crate::PermissionGate;

/// Forwards permission requests and adds which sub-agent asks.
#[derive(Debug)]
pub(super) struct ChildGate {
    pub(super) parent: Arc<dyn PermissionGate>,
    pub(super) id: SubAgentId,
    pub(super) agent_type: String,
    /// Called after each request, because the gate then reports that the member works.
    pub(super) observer: Box<dyn RequestObserver>,
}

/// Observes the end of permission requests.
pub(super) trait RequestObserver: Send + Sync + std::fmt::Debug {
    fn request_ended(&self);
}

#[async_trait]
impl PermissionGate for ChildGate {
    async fn ask(&self, ask: PermissionRequest, cancel: CancellationToken) -> PermissionOutcome {
        let ask = PermissionRequest {
            description: format!("{} ({}): {}", self.agent_type, self.id, ask.description),
            ..ask
        };
        let answer = self.parent.ask(ask, cancel).await;
        self.observer.request_ended();
        answer
    }
}

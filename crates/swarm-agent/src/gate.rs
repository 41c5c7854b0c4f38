//! Permission requests of an agent.

use std::fmt;

use async_trait::async_trait;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use tokio_util::sync::CancellationToken;

/// Decides permission requests: a person, or the lead by mail.
#[async_trait]
pub trait PermissionGate: Send + Sync + fmt::Debug {
    /// Requests permission and waits for the decision; without one the outcome is
    /// [`PermissionOutcome::Deny`]. If `cancel` is cancelled, the request is withdrawn and a later
    /// decision does not count. The gate reports that the agent waits, because it knows the
    /// request's id; the session reports that the agent works again.
    async fn ask(&self, ask: PermissionRequest, cancel: CancellationToken) -> PermissionOutcome;
}

//! Asking for permission.

use std::fmt;

use async_trait::async_trait;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use tokio_util::sync::CancellationToken;

/// Whoever can answer: a person, or the lead by mail.
#[async_trait]
pub trait PermissionGate: Send + Sync + fmt::Debug {
    /// Asks and waits for the answer; no answer means [`PermissionOutcome::Deny`]. When `cancel` falls, the question is
    /// withdrawn and the answer no longer counts. The gate reports that the agent waits, since it knows what a person
    /// must name to answer; that the agent works again is reported by the session.
    async fn ask(&self, ask: PermissionRequest, cancel: CancellationToken) -> PermissionOutcome;
}

/// The gate of an agent for which nobody can answer: everything that would be asked is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyToAsk;

#[async_trait]
impl PermissionGate for NobodyToAsk {
    async fn ask(&self, ask: PermissionRequest, _cancel: CancellationToken) -> PermissionOutcome {
        PermissionOutcome::unanswered(format!("{}, and nobody is there to answer", ask.why))
    }
}

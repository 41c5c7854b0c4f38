//! Events of a session, and permission requests of an agent.

use std::fmt;

use async_trait::async_trait;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::AgentEvent;
use tokio_util::sync::CancellationToken;

/// Receives the events of an agent, for example a pane, a log or a JSON stream.
pub trait EventSink: Send + Sync + fmt::Debug {
    /// Handles one event. Called from the turn loop and from tool tasks, so it must not block.
    fn emit(&self, event: AgentEvent);
}

/// A sink that discards all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _event: AgentEvent) {}
}

/// Decides permission requests: a person, or the lead by mail.
#[async_trait]
pub trait PermissionGate: Send + Sync + fmt::Debug {
    /// Requests permission and waits for the decision; without one the outcome is
    /// [`PermissionOutcome::Deny`]. If `cancel` is cancelled, the request is withdrawn, unless it has
    /// already been answered. The gate reports that the agent waits, because it knows the
    /// request's id; the session reports that the agent works again.
    async fn ask(&self, ask: PermissionRequest, cancel: CancellationToken) -> PermissionOutcome;
}

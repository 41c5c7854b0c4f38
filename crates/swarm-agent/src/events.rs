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

/// Withdraws a permission request.
#[derive(Debug, Clone)]
pub struct Withdrawal {
    interrupted: CancellationToken,
    decided: CancellationToken,
}

impl Withdrawal {
    /// Creates the withdrawal of a request whose turn or command ends with `interrupted`.
    pub(crate) fn on(interrupted: CancellationToken) -> Self {
        Self {
            interrupted,
            decided: CancellationToken::new(),
        }
    }

    /// Withdraws the request, because changed rights decide about the call.
    pub(crate) fn decide(&self) {
        self.decided.cancel();
    }

    /// Resolves with the reason once the request has to be withdrawn.
    pub async fn requested(&self) -> &'static str {
        tokio::select! {
            biased;
            () = self.decided.cancelled() => "a changed rule or mode decided it",
            () = self.interrupted.cancelled() => "the requester stopped waiting",
        }
    }
}

/// Decides permission requests: a person, or the lead by mail.
#[async_trait]
pub trait PermissionGate: Send + Sync + fmt::Debug {
    /// Requests permission and waits for the decision; without one the outcome is
    /// [`PermissionOutcome::Deny`]. If `withdrawal` is requested, the request is withdrawn, unless it
    /// has already been answered. The gate reports that the agent waits, because it knows the
    /// request's id; the session reports that the agent works again.
    async fn ask(&self, ask: PermissionRequest, withdrawal: Withdrawal) -> PermissionOutcome;
}

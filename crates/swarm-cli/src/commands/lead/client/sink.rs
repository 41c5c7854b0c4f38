//! The events of a session's lead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::EventSink;
use swarm_protocol::{AgentEvent, SessionId};

use super::session::ClientSession;
use super::updates::Updates;

/// Sends events to the client.
#[derive(Debug)]
pub(super) struct ClientSink {
    session: Arc<ClientSession>,
    id: SessionId,
    updates: Mutex<Updates>,
    /// Whether the lead repeats its last text, which is in the history that the client has.
    repeats_text: AtomicBool,
}

impl ClientSink {
    pub(super) fn new(session: Arc<ClientSession>, id: SessionId) -> Self {
        Self {
            repeats_text: AtomicBool::new(session.is_loaded),
            session,
            id,
            updates: Mutex::default(),
        }
    }

    pub(super) fn update(&self, update: &Value) {
        let params = json!({"sessionId": self.id.to_string(), "update": update});
        self.session.link.notify("session/update", &params);
    }

    /// Sends events of the history.
    pub(super) fn replay(&self, events: impl IntoIterator<Item = AgentEvent>) {
        let mut updates = Updates::of_history();
        for event in events {
            if let Some(update) = updates.of(&event) {
                self.update(&update);
            }
        }
    }
}

impl EventSink for ClientSink {
    fn emit(&self, event: AgentEvent) {
        match event {
            AgentEvent::TurnStarted => self.repeats_text.store(false, Ordering::Relaxed),
            AgentEvent::MessageDone { .. } if self.repeats_text.swap(false, Ordering::Relaxed) => {
                return;
            }
            _ => {}
        }
        // The order of updates is that of the events.
        let mut updates = self.updates.lock();
        if let Some(update) = updates.of(&event) {
            self.update(&update);
        }
        drop(updates);
        self.session.follow(&event);
    }
}

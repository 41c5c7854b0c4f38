//! Pauses the model requests of background sub-agents while their member takes no turns.

use std::sync::{Arc, Weak};

use futures::StreamExt as _;
use swarm_model::{Model, ModelEvents, ModelRequest};
use tokio_util::sync::CancellationToken;

use super::sink::ChildSink;
use super::{Record, SubAgents};

/// A model client that delays requests while the sub-agent is paused.
#[derive(Debug)]
pub(super) struct PausableModel {
    pub(super) inner: Arc<dyn Model>,
    pub(super) agents: Weak<SubAgents>,
    pub(super) record: Arc<Record>,
    /// Receives the pause, so that it does not count as a stall of the model.
    pub(super) sink: Arc<ChildSink>,
}

impl Model for PausableModel {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let (inner, agents) = (Arc::clone(&self.inner), Weak::clone(&self.agents));
        let (record, sink) = (Arc::clone(&self.record), Arc::clone(&self.sink));
        let events = async move {
            if let Some(agents) = agents.upgrade() {
                agents.wait_while_paused(&record, &sink).await;
            }
            inner.stream(request, cancel)
        };
        futures::stream::once(events).flatten().boxed()
    }

    fn defers_tools(&self) -> bool {
        self.inner.defers_tools()
    }

    fn takes_documents(&self) -> bool {
        self.inner.takes_documents()
    }
}

impl SubAgents {
    /// Pauses or continues background sub-agents, from their next request on. Sub-agents that a
    /// turn waits for belong to that turn.
    pub fn hold(&self, held: bool) {
        self.paused
            .send_if_modified(|known| std::mem::replace(known, held) != held);
    }

    /// Resolves when a sub-agent may send a request to its model.
    async fn wait_while_paused(&self, record: &Record, sink: &ChildSink) {
        let mut held = self.paused.subscribe();
        let is_held = |held: &bool| *held && self.is_in_background(record);
        if !is_held(&held.borrow()) {
            return;
        }
        let _no_silence = sink.wait();
        // Cannot fail: `self` owns the sender.
        let _infallible = held.wait_for(|held| !is_held(held)).await.map(drop);
    }

    /// Returns whether a sub-agent, or one that it works for, runs in the background.
    fn is_in_background(&self, record: &Record) -> bool {
        let above = || self.parent_record(record);
        record.view().background || above().is_some_and(|above| self.is_in_background(&above))
    }
}

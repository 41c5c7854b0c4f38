//! Sub-agents beside a member that takes no turn: they ask their model for nothing meanwhile.

use std::sync::{Arc, Weak};

use futures::StreamExt as _;
use swarm_model::{Model, ModelEvents, ModelRequest};
use tokio_util::sync::CancellationToken;

use super::sink::ChildSink;
use super::{Record, SubAgents};

/// A model that is not asked while the sub-agent is held.
#[derive(Debug)]
pub(super) struct HeldModel {
    pub(super) inner: Arc<dyn Model>,
    pub(super) agents: Weak<SubAgents>,
    pub(super) record: Arc<Record>,
    /// Who is told that the silence is not the model's.
    pub(super) sink: Arc<ChildSink>,
}

impl Model for HeldModel {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let (inner, agents) = (Arc::clone(&self.inner), Weak::clone(&self.agents));
        let (record, sink) = (Arc::clone(&self.record), Arc::clone(&self.sink));
        let events = async move {
            if let Some(agents) = agents.upgrade() {
                agents.let_go(&record, &sink).await;
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
    /// Holds those that work in the background, or lets them go on: from their next request on. Those that a turn waits for
    /// belong to that turn.
    pub fn hold(&self, held: bool) {
        self.held
            .send_if_modified(|known| std::mem::replace(known, held) != held);
    }

    /// Resolves when a sub-agent may ask its model.
    async fn let_go(&self, record: &Record, sink: &ChildSink) {
        let mut held = self.held.subscribe();
        let is_held = |held: &bool| *held && self.is_beside(record);
        if !is_held(&held.borrow()) {
            return;
        }
        let _no_silence = sink.wait();
        // The sender is ours, so it lives.
        let _is_so = held.wait_for(|held| !is_held(held)).await.map(drop);
    }

    /// Whether it works beside the turns of the agent of the process: it, or one that it works for, is in the background.
    fn is_beside(&self, record: &Record) -> bool {
        let above = || {
            record
                .parent
                .id
                .as_ref()
                .and_then(|id| self.find(id.as_str()))
        };
        record.view().background || above().is_some_and(|above| self.is_beside(&above))
    }
}

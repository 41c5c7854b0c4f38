//! A member's mail: frames for the program, text for the model, and acknowledgement.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_protocol::{
    AgentEvent, ControlFrame, InboxEntry, MessageId, PeerMessage, ShutdownRequest,
};
use swarm_store::{Draft, StoreError, Team};
use swarm_team::{Incoming, MemberContext, PeerInbox, PendingShutdown, sort_mail};
use tokio::sync::oneshot;

use crate::deferred_writes::DeferredWrites;
use crate::peer_queue::PeerQueue;

/// What happens to an unread message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// The program handles it: it is marked as read and the model does not see it.
    Acknowledge,
    /// The model reads it. It stays unread until it is in the transcript.
    Read,
    /// The program handles it, and it stays unread until that is done.
    KeepUnread,
}

/// How the mail of a lead differs from that of a teammate.
#[async_trait]
pub(crate) trait MailRole: fmt::Debug + Send + Sync {
    /// Decides what happens to a message and acts on frames that the program handles.
    async fn handling(&self, team: &dyn Team, incoming: &Incoming) -> Handling;

    /// The shutdown request to this member, if it can get one.
    fn shutdown(&self) -> Option<&PendingShutdown> {
        None
    }

    /// Whether input in this member's terminal is a prompt to the model. Otherwise it is a message.
    fn takes_prompts(&self) -> bool {
        false
    }

    /// Returns text for the model to accompany its next messages; it does not start a turn.
    async fn notes(&self, _team: &dyn Team) -> Vec<String> {
        Vec::new()
    }

    /// Called for each message before it is added to the conversation.
    fn reads(&self, _incoming: &Incoming) {}
}

#[derive(Debug)]
pub(crate) struct MailHandler {
    pub(crate) context: Arc<MemberContext>,
    pub(crate) role: Arc<dyn MailRole>,
    /// Messages that a person typed into this member's terminal.
    typed: Mutex<HashSet<MessageId>>,
    /// Messages typed while there was no team and therefore no inbox.
    without_inbox: Mutex<Vec<Incoming>>,
    /// Requests to compact the conversation, which stay unread until that is done.
    compaction: Mutex<Option<CompactionAsk>>,
    /// The request made in this member's terminal.
    typed_compaction: Mutex<Option<CompactionAsk>>,
    /// Locked from a reading of the inbox until what was read is handled and acknowledged: the
    /// turn and the member's loop read at the same time, and each message is handled once.
    reading: tokio::sync::Mutex<()>,
    pub(crate) writes: DeferredWrites,
    pub(crate) peers: Arc<PeerQueue>,
}

/// A person's request to compact the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CompactionAsk {
    /// Instructions for the summary; those of the last request.
    pub(crate) instructions: Option<String>,
    ids: Vec<MessageId>,
}

impl MailHandler {
    pub(crate) fn new(context: Arc<MemberContext>, role: Arc<dyn MailRole>) -> Self {
        Self {
            context,
            role,
            typed: Mutex::default(),
            without_inbox: Mutex::default(),
            compaction: Mutex::default(),
            typed_compaction: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            writes: DeferredWrites::default(),
            peers: Arc::default(),
        }
    }

    /// Returns the shutdown request to this member; `None` for a lead, which is not asked by mail.
    pub(crate) fn shutdown(&self) -> Option<&PendingShutdown> {
        self.role.shutdown()
    }

    /// Records that a message was typed into this member's terminal.
    pub(crate) fn add_typed(&self, id: MessageId) {
        self.peers.release();
        self.typed.lock().insert(id);
    }

    /// Returns whether a message was typed into this member's terminal.
    pub(crate) fn is_typed_here(&self, incoming: &Incoming) -> bool {
        incoming
            .id()
            .is_some_and(|id| self.typed.lock().contains(id))
    }

    /// Keeps a message that was typed into this member's terminal until the model reads it, where
    /// there is no inbox.
    pub(crate) fn keep_typed(&self, draft: Draft) {
        let id = MessageId::random();
        let mut entry = InboxEntry::new(draft.from, draft.text, self.context.clock.now().iso());
        entry.msg_id = Some(id.clone());
        entry.swarm = Some(draft.swarm);
        self.add_typed(id);
        self.without_inbox.lock().push(Incoming::of(entry));
    }

    /// Takes the messages that are not in the inbox: those kept by [`Self::keep_typed`], and those
    /// of other sessions.
    pub(crate) fn take_direct(&self) -> Vec<Incoming> {
        let mut direct = std::mem::take(&mut *self.without_inbox.lock());
        direct.extend(self.peers.take());
        direct
    }

    async fn unread(&self, team: &dyn Team) -> Result<Vec<Incoming>, StoreError> {
        let unread = team.take_unread(&self.context.name).await?;
        Ok(sort_mail(unread))
    }

    /// Handles frames for the program and returns the unread messages for the model, oldest first.
    ///
    /// # Errors
    /// A failed read of the inbox, or the failure of an earlier deferred write.
    pub(crate) async fn take(&self) -> Result<Vec<Incoming>, StoreError> {
        let _reading = self.reading.lock().await;
        self.writes.finished().await?;
        let Some(team) = self.context.team() else {
            return Ok(Vec::new());
        };
        let mut messages = Vec::new();
        let mut handled = Vec::new();
        let mut compaction: Option<CompactionAsk> = None;
        for incoming in self.unread(&*team).await? {
            if let Some(request) = incoming.compact_request() {
                let ask = compaction.get_or_insert_default();
                ask.instructions.clone_from(&request.instructions);
                ask.ids.extend(incoming.id().cloned());
                continue;
            }
            match self.role.handling(&*team, &incoming).await {
                Handling::Acknowledge => handled.extend(incoming.id().cloned()),
                Handling::Read => messages.push(incoming),
                Handling::KeepUnread => {}
            }
        }
        *self.compaction.lock() = compaction;
        self.acknowledge(&*team, &handled).await?;
        Ok(messages)
    }

    /// Records that the person at this member's terminal wants the conversation compacted.
    pub(crate) fn ask_compaction(&self, instructions: Option<String>) {
        *self.typed_compaction.lock() = Some(CompactionAsk {
            instructions,
            ids: Vec::new(),
        });
    }

    /// Returns the last request to compact the conversation, from the terminal or the inbox.
    pub(crate) fn compaction(&self) -> Option<CompactionAsk> {
        let typed = self.typed_compaction.lock().clone();
        typed.or_else(|| self.compaction.lock().clone())
    }

    /// The conversation was compacted, or could not be.
    ///
    /// # Errors
    /// The failure to mark the requests as read.
    pub(crate) async fn compaction_done(&self, ask: &CompactionAsk) -> Result<(), StoreError> {
        if self.typed_compaction.lock().take().is_some() {
            return Ok(());
        }
        let _reading = self.reading.lock().await;
        *self.compaction.lock() = None;
        match self.context.team() {
            Some(team) => self.acknowledge(&*team, &ask.ids).await,
            None => Ok(()),
        }
    }

    /// Handles the frames that change this member's permissions, effective from the next call of a
    /// turn.
    ///
    /// # Errors
    /// A failed read of the inbox, or of its acknowledgement.
    pub(crate) async fn take_rights(&self) -> Result<(), StoreError> {
        let Some(team) = self.context.team() else {
            return Ok(());
        };
        let _reading = self.reading.lock().await;
        let mut handled = Vec::new();
        for incoming in self.unread(&*team).await? {
            if let Some(ControlFrame::ModeSetRequest(_) | ControlFrame::TeamPermissionUpdate(_)) =
                &incoming.frame
                && matches!(
                    self.role.handling(&*team, &incoming).await,
                    Handling::Acknowledge
                )
            {
                handled.extend(incoming.id().cloned());
            }
        }
        self.acknowledge(&*team, &handled).await
    }

    /// Returns whether a person wants the current turn interrupted. Between turns such a request is
    /// read like other mail, and has no effect.
    ///
    /// # Errors
    /// A failed read of the inbox, or of its acknowledgement.
    pub(crate) async fn take_interrupt(&self) -> Result<bool, StoreError> {
        let is_interrupt =
            |incoming: &Incoming| matches!(incoming.frame, Some(ControlFrame::InterruptRequest(_)));
        self.acknowledge_all(is_interrupt).await
    }

    /// Marks the messages that match as read. Returns whether there were any.
    async fn acknowledge_all(
        &self,
        matches: impl Fn(&Incoming) -> bool + Send,
    ) -> Result<bool, StoreError> {
        let Some(team) = self.context.team() else {
            return Ok(false);
        };
        let _reading = self.reading.lock().await;
        let mut unread = self.unread(&*team).await?;
        unread.retain(matches);
        let ids: Vec<_> = unread.iter().filter_map(Incoming::id).cloned().collect();
        self.acknowledge(&*team, &ids).await?;
        Ok(!ids.is_empty())
    }

    /// Returns the messages to add between two tool calls: urgent text and shutdown requests.
    pub(crate) async fn take_urgent(&self) -> Result<Vec<Incoming>, StoreError> {
        let _reading = self.reading.lock().await;
        self.writes.finished().await?;
        let Some(team) = self.context.team() else {
            return Ok(self.take_direct());
        };
        let mut urgent = self.unread(&*team).await?;
        urgent.retain(|incoming| match incoming.shutdown_request() {
            Some(request) => self
                .shutdown()
                .is_some_and(|pending| !pending.is_refused(&request.request_id)),
            None => incoming.is_urgent_text(),
        });
        for request in urgent.iter().filter_map(Incoming::shutdown_request) {
            if let Some(pending) = self.shutdown() {
                pending.enter(request.clone());
            }
        }
        urgent.extend(self.take_direct());
        self.mark_notified(&urgent);
        Ok(urgent)
    }

    /// Records which shutdown requests are among the messages that the model is about to read.
    pub(crate) fn mark_notified(&self, messages: &[Incoming]) {
        let Some(pending) = self.shutdown() else {
            return;
        };
        for request in messages.iter().filter_map(Incoming::shutdown_request) {
            pending.mark_notified(&request.request_id);
        }
    }

    /// Marks all shutdown requests as read after one of them was answered.
    pub(crate) async fn shutdown_answered(&self) -> Result<(), StoreError> {
        let is_request = |incoming: &Incoming| incoming.shutdown_request().is_some();
        self.acknowledge_all(is_request).await.map(drop)
    }

    /// The shutdown request that waits for an answer, in the inbox or already taken. Changes
    /// nothing in the inbox.
    pub(crate) async fn waiting_shutdown(&self) -> Result<Option<ShutdownRequest>, StoreError> {
        let (Some(pending), Some(team)) = (self.shutdown(), self.context.team()) else {
            return Ok(None);
        };
        let inbox = team.inbox(&self.context.name).await?;
        let unread = inbox.unread().cloned().collect();
        let newest = sort_mail(unread)
            .into_iter()
            .rev()
            .find_map(|incoming| incoming.shutdown_request().cloned())
            .filter(|request| !pending.is_refused(&request.request_id));
        Ok(newest.or_else(|| pending.open()))
    }

    async fn acknowledge(&self, team: &dyn Team, ids: &[MessageId]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        team.ack(&self.context.name, ids).await.map(drop)
    }
}

impl PeerInbox for MailHandler {
    fn waiting(&self) -> (usize, usize) {
        self.peers.waiting()
    }

    fn add(&self, message: PeerMessage, hold: bool) -> oneshot::Receiver<()> {
        let (incoming, receiver) = self.peers.add(message, hold, &*self.context.clock);
        if hold {
            let (from, text) = (&incoming.entry.from, &incoming.entry.text);
            let line = format!(
                "held message from {from}, sent to the model with your next prompt: {text}"
            );
            self.notice(line);
        }
        receiver
    }

    fn notice(&self, line: String) {
        self.context.emit(AgentEvent::Notice { line });
    }
}

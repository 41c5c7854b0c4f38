//! From the inbox to the model: messages are shown, added to the conversation, and marked as read.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_agent::{Injected, Interjections, Withheld};
use swarm_os::SyncHandle;
use swarm_protocol::{AgentEvent, MemberName, MessageId, marked_images};
use swarm_store::{BlockOn as _, Draft, StoreError, summary_of};
use swarm_team::Incoming;

use crate::mail::MailHandler;

/// The sender of what a person types in this terminal, in the view.
pub(crate) const TYPED: &str = "you";

impl MailHandler {
    /// Shows messages and returns them in the form in which they go into the transcript.
    pub(crate) fn inject(&self, messages: &[Incoming]) -> Vec<Injected> {
        self.context.has_read(messages);
        let injected = messages.iter().map(|incoming| {
            self.role.reads(incoming);
            self.context.emit(self.shown(incoming));
            let is_prompt = self.role.takes_prompts() && self.is_typed_here(incoming);
            let images = marked_images(&incoming.entry.text).into_iter();
            Injected {
                text: self.words(incoming),
                message_ids: incoming.id().cloned().into_iter().collect(),
                images: images.filter(|_| is_prompt).map(str::to_owned).collect(),
            }
        });
        injected.collect()
    }

    /// Returns text for the model to accompany its next messages.
    pub(crate) async fn notes(&self) -> Vec<Injected> {
        let Some(team) = self.context.team() else {
            return Vec::new();
        };
        let notes = self.role.notes(&*team).await;
        notes.iter().map(|text| Injected::system(text)).collect()
    }

    /// A message as the model reads it.
    fn words(&self, incoming: &Incoming) -> String {
        if self.role.takes_prompts() && self.is_typed_here(incoming) {
            incoming.entry.text.clone()
        } else if self.context.is_agent_program() {
            incoming.render_for_program(self.context.handoff_scan())
        } else {
            incoming.render(self.context.handoff_scan())
        }
    }

    fn shown(&self, incoming: &Incoming) -> AgentEvent {
        if !self.is_typed_here(incoming) {
            return incoming.shown(&self.context.name);
        }
        AgentEvent::MailIn {
            from: TYPED.to_owned(),
            color: None,
            line: incoming.line(),
            more: incoming.more(&self.context.name),
        }
    }

    /// Marks messages as read and adds them to the journal as delivered, once `sync_handle` reports
    /// that the transcript is on disk. The write is deferred; [`Self::take`] returns its error.
    /// Messages that could not be marked are delivered again, recognised by their id, and marked
    /// then.
    pub(crate) fn mark_delivered(&self, ids: Vec<MessageId>, sync_handle: Option<SyncHandle>) {
        if let Some(write) = self.delivery(ids, sync_handle) {
            self.writes.add(write);
        }
    }

    fn delivery(
        &self,
        mut ids: Vec<MessageId>,
        sync_handle: Option<SyncHandle>,
    ) -> Option<impl FnOnce() -> Result<(), StoreError> + Send + use<>> {
        let of_peers = self.peers.split_off(&mut ids);
        let team = self.context.team().filter(|_| !ids.is_empty());
        if team.is_none() && of_peers.is_empty() {
            return None;
        }
        let peers = Arc::clone(&self.peers);
        let context = Arc::clone(&self.context);
        Some(move || {
            if let Some(Err(error)) = sync_handle.as_ref().map(SyncHandle::wait) {
                // They stay unread and are delivered again; the session reports the error.
                tracing::warn!(member = %context.name, %error, "cannot save mail in the transcript");
                return Ok(());
            }
            peers.acknowledge(&of_peers);
            match team {
                Some(team) => team.delivered(&context.name, &ids).block_on().map(drop),
                None => Ok(()),
            }
        })
    }

    /// Adds a write that runs concurrently with the model request, after the earlier ones.
    pub(crate) fn write_later(&self, write: impl FnOnce() + Send + 'static) {
        self.writes.add(|| {
            write();
            Ok(())
        });
    }

    pub(crate) fn begin_writes(&self) {
        self.writes.begin();
    }

    pub(crate) async fn finish_writes(&self) {
        if let Err(error) = self.writes.finished().await {
            tracing::warn!(member = %self.context.name, %error, "mail not acknowledged yet");
        }
    }

    /// Tells the senders of messages that a hook withheld them from this member. Messages of the
    /// program itself are skipped, so no such notice causes another.
    pub(crate) async fn tell_senders(&self, messages: &[Incoming], withheld: &[Withheld]) {
        let name = &self.context.name;
        for incoming in messages.iter().filter(|incoming| incoming.is_prose()) {
            let is_it =
                |one: &&Withheld| incoming.id().is_some_and(|id| one.message_ids.contains(id));
            let entry = &incoming.entry;
            // The person at this terminal has seen the notice of the hook.
            if self.is_typed_here(incoming) {
                continue;
            }
            let withheld = withheld.iter().find(is_it);
            let (Some(one), Ok(sender), Some(team)) = (
                withheld,
                MemberName::parse(entry.from.trim()),
                self.context.team(),
            ) else {
                continue;
            };
            let text = format!(
                "{name} was not shown your message ({}): a user hook withheld it. {}",
                summary_of(&entry.text, entry.summary.as_deref()),
                one.why
            );
            let notice = Draft::system_of(name.as_str(), text)
                .with_summary(format!("{name} was not shown your message"));
            if let Err(error) = team.send(&sender, notice).await {
                tracing::warn!(member = %name, %sender, %error, "cannot notify the sender");
            }
        }
    }
}

#[async_trait]
impl Interjections for MailHandler {
    async fn between_calls(&self) -> Vec<Injected> {
        match self.take_urgent().await {
            Ok(messages) => {
                let mut injected = self.notes().await;
                injected.extend(self.inject(&messages));
                injected
            }
            Err(error) => {
                // The mail stays unread and is read after the turn.
                tracing::warn!(member = %self.context.name, %error, "urgent mail not read");
                Vec::new()
            }
        }
    }

    async fn delivered(&self, ids: &[MessageId]) {
        let Some(write) = self.delivery(ids.to_vec(), None) else {
            return;
        };
        let name = self.context.name.clone();
        self.write_later(move || {
            if let Err(error) = write() {
                // It is in the transcript, and is marked when it is delivered again after the turn.
                tracing::warn!(member = %name, %error, "urgent mail not acknowledged");
            }
        });
        self.begin_writes();
    }
}

//! A teammate's mail: what waits, what is handled by the program, what the model reads.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use swarm_engine::{Injected, Withheld};
use swarm_fs::Settling;
use swarm_protocol::{
    AgentEvent, ControlFrame, MemberName, MessageId, ShutdownRequest, TeamName, UnixMs,
};
use swarm_store::{Draft, StoreError};
use swarm_team::{Incoming, Seat, ShutdownDesk, ShutdownVerdict, sort_mail, summary_of};

use crate::mail;
use crate::teammate::chores::Chores;

/// The mail of one teammate.
#[derive(Debug)]
pub(crate) struct MailDesk {
    pub(crate) seat: Arc<Seat>,
    pub(crate) team: TeamName,
    pub(crate) shutdown: Arc<ShutdownDesk>,
    /// What a person typed into this member's pane.
    typed: Mutex<HashSet<MessageId>>,
    /// A shutdown request written before this instant was meant for an earlier spawn of the name.
    joined_at: OnceLock<UnixMs>,
    chores: Chores,
}

impl MailDesk {
    pub(crate) fn new(seat: Arc<Seat>, team: TeamName, shutdown: Arc<ShutdownDesk>) -> Self {
        Self {
            seat,
            team,
            shutdown,
            typed: Mutex::default(),
            joined_at: OnceLock::new(),
            chores: Chores::default(),
        }
    }

    /// Notes when this spawn was entered in the roster; the first word counts.
    pub(crate) fn joined(&self, at: UnixMs) {
        self.joined_at.get_or_init(|| at);
    }

    /// Notes that a message was typed into this member's pane.
    pub(crate) fn typed_here(&self, id: MessageId) {
        self.typed().insert(id);
    }

    /// Whether a message was typed into this member's pane.
    pub(crate) fn is_typed_here(&self, incoming: &Incoming) -> bool {
        incoming.id().is_some_and(|id| self.typed().contains(id))
    }

    fn typed(&self) -> MutexGuard<'_, HashSet<MessageId>> {
        // Ids are only added.
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model shall read, oldest first. A shutdown request goes to the shutdown desk as well, one that is forced only
    /// there, and frames that no teammate handles are acknowledged away.
    pub(crate) fn take(&self) -> Result<Vec<Incoming>, StoreError> {
        self.chores.done()?;
        mail::take(&self.seat, &self.team, |incoming| match &incoming.frame {
            Some(ControlFrame::ShutdownRequest(request)) => {
                let written = incoming.entry.timestamp.unix_ms();
                let joined = self.joined_at.get();
                let stale = written.is_some_and(|at| joined.is_some_and(|joined| at < *joined));
                if stale || self.shutdown.is_refused(&request.request_id) {
                    return true;
                }
                self.shutdown.enter(request.clone());
                // It stays unread until it is answered.
                false
            }
            Some(ControlFrame::PermissionResponse(_)) => true,
            _ => false,
        })
        .map(|mut messages| {
            let is_forced = |incoming: &Incoming| {
                incoming
                    .shutdown_request()
                    .is_some_and(|request| request.force)
            };
            messages.retain(|incoming| !is_forced(incoming));
            messages
        })
    }

    /// What may be let in between two tool calls: urgent mail, and a shutdown request, which also goes to the desk.
    pub(crate) fn take_urgent(&self) -> Result<Vec<Incoming>, StoreError> {
        self.chores.done()?;
        let unread = self.seat.store.take_unread(&self.team, &self.seat.name)?;
        let urgent =
            sort_mail(unread)
                .into_iter()
                .filter(|incoming| match incoming.shutdown_request() {
                    Some(request) => !self.shutdown.is_refused(&request.request_id),
                    None => incoming.is_urgent_text(),
                });
        let urgent: Vec<Incoming> = urgent.collect();
        for request in urgent.iter().filter_map(Incoming::shutdown_request) {
            self.shutdown.enter(request.clone());
        }
        self.note_told(&urgent);
        Ok(urgent)
    }

    /// Notes which shutdown requests are among what the model is about to read.
    pub(crate) fn note_told(&self, messages: &[Incoming]) {
        for request in messages.iter().filter_map(Incoming::shutdown_request) {
            self.shutdown.note_told(&request.request_id);
        }
    }

    /// Acknowledges the shutdown requests once one has been answered.
    pub(crate) fn shutdown_answered(&self) -> Result<(), StoreError> {
        let unread = self.seat.store.take_unread(&self.team, &self.seat.name)?;
        let requests: Vec<MessageId> = sort_mail(unread)
            .iter()
            .filter(|incoming| incoming.shutdown_request().is_some())
            .filter_map(|incoming| incoming.id().cloned())
            .collect();
        self.acknowledge(&requests).map(drop)
    }

    /// The shutdown request that waits for an answer, in the inbox or on the desk; the inbox is only looked at.
    pub(crate) fn waiting_shutdown(&self) -> Result<Option<ShutdownRequest>, StoreError> {
        let inbox = self.seat.store.inbox(&self.team, &self.seat.name)?;
        let unread = inbox.unread().cloned().collect();
        let newest = sort_mail(unread)
            .into_iter()
            .rev()
            .find_map(|incoming| incoming.shutdown_request().cloned())
            .filter(|request| !self.shutdown.is_refused(&request.request_id));
        Ok(newest.or_else(|| match self.shutdown.verdict() {
            ShutdownVerdict::Open(request) => Some(request),
            ShutdownVerdict::None => None,
        }))
    }

    /// The form in which messages go into the transcript; shows them too.
    pub(crate) fn inject(&self, messages: &[Incoming]) -> Vec<Injected> {
        for incoming in messages {
            self.seat.emit(self.shown(incoming));
        }
        mail::inject(messages)
    }

    fn shown(&self, incoming: &Incoming) -> AgentEvent {
        if !self.is_typed_here(incoming) {
            return incoming.shown(&self.seat.name);
        }
        AgentEvent::MailIn {
            from: "you, typed here".to_owned(),
            color: None,
            line: incoming.line(),
            more: None,
        }
    }

    /// Enters in the journal that messages are in the durable transcript, and marks them as read, once `settling` says that
    /// they are. It is done once [`Self::go_on_writing`] is called, or at the next look at the mail, which tells of a
    /// failure: they are acknowledged when they come again.
    pub(crate) fn delivered(&self, ids: Vec<MessageId>, settling: Option<Settling>) {
        if ids.is_empty() {
            return;
        }
        let (seat, team) = (Arc::clone(&self.seat), self.team.clone());
        self.chores.add(move || {
            if let Some(Err(error)) = settling.as_ref().map(Settling::settle) {
                // They are not acknowledged and come again; the session says what is wrong.
                tracing::warn!(member = %seat.name, %error, "mail not kept");
                return Ok(());
            }
            let delivered = seat.store.delivered(&team, &seat.name, &ids);
            delivered.map(drop)
        });
    }

    /// Notes in the roster, for other programs, that a turn is under way.
    pub(crate) fn turn_begins(&self) {
        let (seat, team) = (Arc::clone(&self.seat), self.team.clone());
        self.write_later(move || set_active(&seat, &team, true));
    }

    /// Adds something to what is written while the model is asked, behind what was added before.
    pub(crate) fn write_later(&self, write: impl FnOnce() + Send + 'static) {
        self.chores.add(|| {
            write();
            Ok(())
        });
    }

    /// Begins what was added, beside whatever goes on here.
    pub(crate) fn go_on_writing(&self) {
        self.chores.begin();
    }

    /// Waits for what was begun and not waited for.
    pub(crate) fn settle(&self) {
        if let Err(error) = self.chores.done() {
            tracing::warn!(member = %self.seat.name, %error, "mail not acknowledged yet");
        }
    }

    /// Notes that the turn is over, once all that was begun in it is written.
    pub(crate) fn turn_ends(&self) {
        self.settle();
        set_active(&self.seat, &self.team, false);
    }

    /// Tells whoever wrote a message that a hook kept it from this member. What the program itself sends has nobody to
    /// tell, and so no such notice is followed by another.
    pub(crate) fn tell_senders(&self, messages: &[Incoming], withheld: &[Withheld]) {
        for incoming in messages {
            let entry = &incoming.entry;
            if !incoming.is_prose() {
                continue;
            }
            let is_it =
                |one: &&Withheld| incoming.id().is_some_and(|id| one.message_ids.contains(id));
            let (Some(one), Ok(sender)) = (
                withheld.iter().find(is_it),
                MemberName::parse(entry.from.trim()),
            ) else {
                continue;
            };
            let name = &self.seat.name;
            let text = format!(
                "{name} was not shown your message ({}): a hook of the user withholds it. {}",
                summary_of(&entry.text, entry.summary.as_deref()),
                one.why
            );
            let notice = Draft::system_of(name.as_str(), text)
                .with_summary(format!("{name} was not shown your message"));
            if let Err(error) = self.seat.store.send(&self.team, &sender, notice) {
                tracing::warn!(member = %name, %sender, %error, "sender not told");
            }
        }
    }

    fn acknowledge(&self, ids: &[MessageId]) -> Result<Vec<MessageId>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.seat.store.ack(&self.team, &self.seat.name, ids)
    }
}

fn set_active(seat: &Seat, team: &TeamName, active: bool) {
    if let Err(error) = seat.store.set_active(team, &seat.name, active) {
        // `isActive` is a courtesy to other programs; our own state report says the same.
        tracing::debug!(member = %seat.name, %error, "isActive not written");
    }
}

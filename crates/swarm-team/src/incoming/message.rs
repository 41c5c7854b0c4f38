//! A message of an inbox, its author and its displayed sender.

use swarm_protocol::{
    CompactRequest, ControlFrame, InboxEntry, LEAD_NAME, MarkKind, MessageId, PERSON_SENDER,
    PeerMode, SYSTEM_SENDER, ShutdownRequest,
};

/// Returns the displayed sender of a message: its sender, unless the program or a person wrote it.
/// A member with a reserved name is displayed differently.
pub fn speaker(from: &str, kind: Option<MarkKind>) -> String {
    let from = from.trim();
    match kind {
        Some(MarkKind::System) => SYSTEM_SENDER.to_owned(),
        Some(MarkKind::Person) => PERSON_SENDER.to_owned(),
        Some(MarkKind::Session) if from == PERSON_SENDER => {
            format!("{PERSON_SENDER}, from another terminal")
        }
        _ if [SYSTEM_SENDER, PERSON_SENDER]
            .iter()
            .any(|name| from.eq_ignore_ascii_case(name)) =>
        {
            format!("a member called {}", from.to_lowercase())
        }
        _ => from.to_owned(),
    }
}

/// A message of an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    /// The inbox entry.
    pub entry: InboxEntry,
    /// The control frame, if its sender may send one of that type.
    pub frame: Option<ControlFrame>,
}

impl Incoming {
    /// Parses an entry.
    pub fn of(entry: InboxEntry) -> Self {
        Self {
            frame: ControlFrame::of_entry(&entry),
            entry,
        }
    }

    /// Returns whether it is text from the program.
    pub fn is_system(&self) -> bool {
        let mark = self.entry.swarm.as_ref();
        mark.is_some_and(|mark| mark.kind == Some(MarkKind::System))
    }

    /// Returns whether it is text from a peer or a person.
    pub fn is_prose(&self) -> bool {
        self.frame.is_none() && !self.is_system()
    }

    /// Returns whether a teammate wrote it: such text is checked before a model reads it. A person
    /// writes under the lead's name.
    pub(crate) fn is_of_peer(&self) -> bool {
        self.is_prose() && !self.is_of_lead()
    }

    pub(super) fn is_of_lead(&self) -> bool {
        self.entry.from.trim() == LEAD_NAME
    }

    /// Returns the mode of the session that wrote it, if it is of another session.
    pub(super) fn session_mode(&self) -> Option<PeerMode> {
        let mark = self.entry.swarm.as_ref()?;
        let is_of_session = mark.kind == Some(MarkKind::Session);
        is_of_session.then(|| mark.from_mode.unwrap_or(PeerMode::Prompting))
    }

    /// Returns whether it is text that may be delivered between two tool calls.
    pub fn is_urgent_text(&self) -> bool {
        self.frame.is_none() && self.entry.is_urgent()
    }

    /// Returns the shutdown request, if it is one.
    pub fn shutdown_request(&self) -> Option<&ShutdownRequest> {
        match &self.frame {
            Some(ControlFrame::ShutdownRequest(request)) => Some(request),
            _ => None,
        }
    }

    /// Returns the request to compact the conversation, if it is one.
    pub fn compact_request(&self) -> Option<&CompactRequest> {
        match &self.frame {
            Some(ControlFrame::CompactRequest(request)) => Some(request),
            _ => None,
        }
    }

    /// Returns its ID. Entries read from a mailbox always have one.
    pub fn id(&self) -> Option<&MessageId> {
        self.entry.msg_id.as_ref()
    }

    /// Returns the displayed sender. Messages of the program are not shown under the name of a
    /// peer.
    pub fn speaker(&self) -> String {
        match &self.frame {
            Some(ControlFrame::TaskAssignment(_)) if self.is_of_lead() => SYSTEM_SENDER.to_owned(),
            _ => speaker_of(&self.entry),
        }
    }
}

pub(super) fn speaker_of(entry: &InboxEntry) -> String {
    speaker(&entry.from, entry.swarm.as_ref().and_then(|mark| mark.kind))
}

/// Parses the entries of an inbox, in order.
pub fn sort_mail(entries: Vec<InboxEntry>) -> Vec<Incoming> {
    entries.into_iter().map(Incoming::of).collect()
}

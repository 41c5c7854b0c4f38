//! A message before it has an id, and an inbox as it is shown.

use std::path::PathBuf;

use swarm_protocol::{
    ControlFrame, InboxEntry, LEAD_NAME, Malformed, MarkKind, MessageId, SYSTEM_SENDER, SwarmMark,
};

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// Name of the sender.
    pub from: String,
    /// Prose, or a control frame as compact JSON.
    pub text: String,
    /// A few words for lists.
    pub summary: Option<String>,
    /// The sender's colour.
    pub color: Option<String>,
    /// What it is, how urgent, and what it supersedes.
    pub swarm: SwarmMark,
}

impl Draft {
    /// Prose of a member or a person.
    pub fn new(from: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            text: text.into(),
            ..Self::default()
        }
    }

    /// A control frame.
    pub fn control(from: impl Into<String>, frame: &ControlFrame) -> Self {
        let mut draft = Self::new(from, frame.to_text());
        draft.swarm.kind = Some(MarkKind::Control);
        draft
    }

    /// News of the program. It has no member's name: other programs take that for a message of the member.
    pub fn system(text: impl Into<String>) -> Self {
        Self::system_of(SYSTEM_SENDER, text)
    }

    /// News of a member's own program.
    pub fn system_of(member: impl Into<String>, text: impl Into<String>) -> Self {
        let mut draft = Self::new(member, text);
        draft.swarm.kind = Some(MarkKind::System);
        draft
    }

    /// The words of a person to the lead.
    pub fn person(text: impl Into<String>) -> Self {
        let mut draft = Self::new(LEAD_NAME, text);
        draft.swarm.kind = Some(MarkKind::Person);
        draft
    }

    /// With a few words for lists.
    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// To be let in between tool calls.
    #[must_use]
    pub fn urgent(mut self) -> Self {
        self.swarm.urgent = true;
        self
    }
}

/// A message that was put into an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Its id.
    pub msg_id: MessageId,
    /// Unread messages of the same sender and key that it took the place of.
    pub superseded: Vec<MessageId>,
    /// Where the inbox is kept as it was, if it was damaged and had to be begun anew.
    pub quarantine: Option<PathBuf>,
}

/// An inbox as it stands.
#[derive(Debug, Clone, Default)]
pub struct Inbox {
    /// The entries, oldest first.
    pub entries: Vec<InboxEntry>,
    /// Elements that are no entries; the next writer sets them aside.
    pub malformed: Vec<Malformed>,
}

impl Inbox {
    /// The entries that are not acknowledged.
    pub fn unread(&self) -> impl Iterator<Item = &InboxEntry> {
        self.entries.iter().filter(|entry| !entry.read)
    }
}

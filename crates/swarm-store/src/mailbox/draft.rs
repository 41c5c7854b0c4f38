//! Messages before they are sent, and the content of an inbox.

use std::path::PathBuf;

use swarm_protocol::{
    ControlFrame, InboxEntry, LEAD_NAME, Malformed, MarkKind, MessageId, SYSTEM_SENDER, SwarmMark,
};

/// Longest summary in characters; Claude Code cuts there.
const SUMMARY_CHARS: usize = 200;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// Name of the sender.
    pub from: String,
    /// Text, or a control frame as compact JSON.
    pub text: String,
    /// Short summary for lists.
    pub summary: Option<String>,
    /// The sender's colour.
    pub color: Option<String>,
    /// Kind, urgency and replacement key.
    pub swarm: SwarmMark,
    /// ID of the message. The store creates one if there is none.
    pub id: Option<MessageId>,
}

impl Draft {
    /// Creates a text message of a member or a person.
    pub fn new(from: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            text: text.into(),
            ..Self::default()
        }
    }

    /// Creates a control frame.
    pub fn control(from: impl Into<String>, frame: &ControlFrame) -> Self {
        let mut draft = Self::new(from, frame.to_text());
        draft.swarm.kind = Some(MarkKind::Control);
        draft
    }

    /// Creates a system message. It does not carry a member's name, because other programs would
    /// attribute it to that member.
    pub fn system(text: impl Into<String>) -> Self {
        Self::system_of(SYSTEM_SENDER, text)
    }

    /// Creates a system message from a member's process.
    pub fn system_of(member: impl Into<String>, text: impl Into<String>) -> Self {
        let mut draft = Self::new(member, text);
        draft.swarm.kind = Some(MarkKind::System);
        draft
    }

    /// Creates a message from a person to the lead.
    pub fn person(text: impl Into<String>) -> Self {
        let mut draft = Self::new(LEAD_NAME, text);
        draft.swarm.kind = Some(MarkKind::Person);
        draft
    }

    /// Sets the first line as the summary.
    #[must_use]
    pub fn summarized(self) -> Self {
        let summary = summary_of(&self.text, None);
        self.with_summary(summary)
    }

    /// Sets the summary.
    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Sets the ID, for a sender that must know it before the message can be read.
    #[must_use]
    pub fn with_id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    /// Marks the message for delivery between tool calls.
    #[must_use]
    pub fn urgent(mut self) -> Self {
        self.swarm.urgent = true;
        self
    }
}

/// Returns the given summary of a message, or the first line of its text.
pub fn summary_of(text: &str, given: Option<&str>) -> String {
    let line = given
        .filter(|given| !given.trim().is_empty())
        .or_else(|| text.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or_default();
    line.trim().chars().take(SUMMARY_CHARS).collect()
}

/// A message that was put into an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// ID of the message.
    pub msg_id: MessageId,
    /// IDs of unread messages of the same sender and key that it replaced.
    pub superseded: Vec<MessageId>,
    /// Path of the backup, if the inbox was damaged and had to be replaced.
    pub quarantine: Option<PathBuf>,
}

/// The content of an inbox.
#[derive(Debug, Clone, Default)]
pub struct Inbox {
    /// The entries, oldest first.
    pub entries: Vec<InboxEntry>,
    /// Malformed elements; the next writer moves them to an archive.
    pub malformed: Vec<Malformed>,
}

impl Inbox {
    /// Returns the unacknowledged entries.
    pub fn unread(&self) -> impl Iterator<Item = &InboxEntry> {
        self.entries.iter().filter(|entry| !entry.read)
    }
}

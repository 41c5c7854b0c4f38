//! Inbox files: a JSON array of entries in Claude Code's format.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{IsoTime, MessageId};

/// One entry of an inbox. Readers need only `from`, `text` and `timestamp`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboxEntry {
    /// Name of the sender.
    pub from: String,
    /// Prose, or a control frame as compact JSON.
    pub text: String,
    /// A few words for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was written, by the sender's clock.
    pub timestamp: IsoTime,
    /// The sender's colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Version of the entry format, 1.
    #[serde(default, rename = "msgV", skip_serializing_if = "Option::is_none")]
    pub msg_v: Option<Value>,
    /// Its id. Entries of foreign programs may lack it until their receiver writes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<MessageId>,
    /// The constant `message`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Value>,
    /// Acknowledged: it is in the receiver's durable transcript. Missing means no.
    #[serde(default)]
    pub read: bool,
    /// swarm's own marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swarm: Option<SwarmMark>,
    /// Fields of others.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What swarm notes on an entry that it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SwarmMark {
    /// What the entry is, when it is not prose of a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MarkKind>,
    /// To be let in between tool calls rather than at the end of the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    /// An unread entry of the same sender and key is replaced by this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersede: Option<String>,
    /// Room for a signature of the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sig: Option<String>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// What a marked entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkKind {
    /// A control frame made by the program.
    Control,
    /// A message made by the program, not by its sender's words.
    System,
}

impl InboxEntry {
    /// A new unread entry as swarm writes it, with a fresh id.
    pub fn new(from: impl Into<String>, text: impl Into<String>, timestamp: IsoTime) -> Self {
        Self {
            from: from.into(),
            text: text.into(),
            summary: None,
            timestamp,
            color: None,
            msg_v: Some(Value::from(1)),
            msg_id: Some(MessageId::random()),
            kind: Some(Value::from("message")),
            read: false,
            swarm: None,
            rest: Map::new(),
        }
    }

    /// Whether swarm marked it as a control frame.
    pub fn is_marked_control(&self) -> bool {
        self.swarm
            .as_ref()
            .is_some_and(|mark| mark.kind == Some(MarkKind::Control))
    }

    /// Whether it may be let in between tool calls.
    pub fn is_urgent(&self) -> bool {
        self.swarm.as_ref().is_some_and(|mark| mark.urgent)
    }
}

/// An element of an inbox that is not an entry.
#[derive(Debug, Clone)]
pub struct Malformed {
    /// The element as it stands in the file.
    pub raw: Box<RawValue>,
    /// Why it is no entry.
    pub reason: String,
}

/// An inbox as read: the good entries in order, and what could not be understood.
#[derive(Debug, Clone, Default)]
pub struct ParsedInbox {
    /// The entries, oldest first.
    pub entries: Vec<InboxEntry>,
    /// Elements that are no entries.
    pub malformed: Vec<Malformed>,
}

/// Parses an inbox file. One bad element never spoils the others.
///
/// # Errors
/// When the bytes are not a JSON array at all; an empty file counts as an empty array, since Claude Code
/// creates the file before it fills it.
pub fn parse_inbox(bytes: &[u8]) -> Result<ParsedInbox, serde_json::Error> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(ParsedInbox::default());
    }
    let elements: Vec<Box<RawValue>> = serde_json::from_slice(bytes)?;
    let mut inbox = ParsedInbox::default();
    for raw in elements {
        match serde_json::from_str::<InboxEntry>(raw.get()) {
            Ok(entry) => inbox.entries.push(entry),
            Err(error) => inbox.malformed.push(Malformed {
                raw,
                reason: error.to_string(),
            }),
        }
    }
    Ok(inbox)
}

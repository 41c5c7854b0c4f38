//! Inbox files: a JSON array of entries in Claude Code's format.

use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::surrogate::parse_repaired;
use crate::{IsoTime, MessageId, PeerMode};

/// One entry of an inbox. Only `from`, `text` and `timestamp` are required; an optional field of an
/// unexpected type counts as absent, remains in `rest` and is written back unchanged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct InboxEntry {
    /// Name of the sender.
    pub from: String,
    /// Prose, or a control frame as compact JSON.
    pub text: String,
    /// Short summary for lists.
    pub summary: Option<String>,
    /// Time of writing, by the sender's clock.
    pub timestamp: IsoTime,
    /// Colour of the sender.
    pub color: Option<String>,
    /// `msgV`, the version of the entry format, 1.
    pub msg_v: Option<Value>,
    /// Message id. Entries of other programs may lack it until their receiver assigns one.
    pub msg_id: Option<MessageId>,
    /// `type`, always `message`.
    pub kind: Option<Value>,
    /// Acknowledged: the message is in the receiver's durable transcript. Absent means false.
    pub read: bool,
    /// Metadata that swarm adds.
    pub swarm: Option<SwarmMark>,
    /// Other fields. A field above takes precedence over one of the same name here.
    pub rest: Map<String, Value>,
}

/// Reason for which a JSON object is not an inbox entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A required field is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A required field has another type.
    #[error("`{0}` is not a string")]
    NotText(&'static str),
}

/// Metadata that swarm adds to an entry it writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SwarmMark {
    /// Kind of entry, if it is not prose of a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MarkKind>,
    /// Whether to deliver it between tool calls instead of at the end of the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    /// Replaces unread entries of the same sender with the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersede: Option<String>,
    /// Reserved for a signature of the lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sig: Option<String>,
    /// Of a message of another session: whether that session asks a person.
    #[serde(skip)]
    pub from_mode: Option<PeerMode>,
    /// Unknown fields, preserved on write.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Kind of a marked entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkKind {
    /// A control frame written by the program.
    Control,
    /// A message written by the program, not by its sender.
    System,
    /// A message from a person to the lead, sent under the lead's name.
    Person,
    /// A message of another session on this machine. Never in a file.
    Session,
}

const SWARM: &str = "swarm";

impl TryFrom<Map<String, Value>> for InboxEntry {
    type Error = EntryError;

    fn try_from(mut fields: Map<String, Value>) -> Result<Self, EntryError> {
        Ok(Self {
            from: required(&mut fields, "from")?,
            text: required(&mut fields, "text")?,
            summary: optional(&mut fields, "summary"),
            timestamp: IsoTime::new(required(&mut fields, "timestamp")?),
            color: optional(&mut fields, "color"),
            msg_v: fields.shift_remove("msgV"),
            msg_id: optional(&mut fields, "msg_id"),
            kind: fields.shift_remove("type"),
            read: fields.shift_remove("read") == Some(Value::Bool(true)),
            swarm: optional(&mut fields, SWARM),
            rest: fields,
        })
    }
}

fn required(fields: &mut Map<String, Value>, name: &'static str) -> Result<String, EntryError> {
    match fields.shift_remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(EntryError::NotText(name)),
        None => Err(EntryError::Missing(name)),
    }
}

fn optional<T: DeserializeOwned>(fields: &mut Map<String, Value>, name: &str) -> Option<T> {
    let value = T::deserialize(fields.get(name)?).ok()?;
    fields.shift_remove(name);
    Some(value)
}

impl Serialize for InboxEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("from", &self.from)?;
        fields.serialize_entry("text", &self.text)?;
        add(&mut fields, "summary", self.summary.as_ref())?;
        fields.serialize_entry("timestamp", self.timestamp.as_str())?;
        add(&mut fields, "color", self.color.as_ref())?;
        add(&mut fields, "msgV", self.msg_v.as_ref())?;
        add(&mut fields, "msg_id", self.msg_id.as_ref())?;
        add(&mut fields, "type", self.kind.as_ref())?;
        fields.serialize_entry("read", &self.read)?;
        add(&mut fields, SWARM, self.swarm.as_ref())?;
        let others = self.rest.iter().filter(|(name, _)| !self.has(name));
        for (name, value) in others {
            fields.serialize_entry(name, value)?;
        }
        fields.end()
    }
}

fn add<M: SerializeMap>(
    fields: &mut M,
    name: &str,
    value: Option<&impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| fields.serialize_entry(name, value))
}

impl InboxEntry {
    /// Creates an unread entry with a new id.
    pub fn new(from: impl Into<String>, text: impl Into<String>, timestamp: IsoTime) -> Self {
        Self::with_id(MessageId::random(), from, text, timestamp)
    }

    /// Creates an unread entry.
    pub fn with_id(
        msg_id: MessageId,
        from: impl Into<String>,
        text: impl Into<String>,
        timestamp: IsoTime,
    ) -> Self {
        Self {
            from: from.into(),
            text: text.into(),
            summary: None,
            timestamp,
            color: None,
            msg_v: Some(Value::from(1)),
            msg_id: Some(msg_id),
            kind: Some(Value::from("message")),
            read: false,
            swarm: None,
            rest: Map::new(),
        }
    }

    /// Returns whether a field above has this name and a value, and so takes precedence over one in `rest`.
    fn has(&self, name: &str) -> bool {
        match name {
            "from" | "text" | "timestamp" | "read" => true,
            "summary" => self.summary.is_some(),
            "color" => self.color.is_some(),
            "msgV" => self.msg_v.is_some(),
            "msg_id" => self.msg_id.is_some(),
            "type" => self.kind.is_some(),
            SWARM => self.swarm.is_some(),
            _ => false,
        }
    }

    /// Returns whether swarm marked the entry as a control frame.
    pub fn is_marked_control(&self) -> bool {
        self.swarm
            .as_ref()
            .is_some_and(|mark| mark.kind == Some(MarkKind::Control))
    }

    /// Returns whether the entry has swarm metadata, even of an unknown form.
    pub(crate) fn is_marked(&self) -> bool {
        self.swarm.is_some() || self.rest.contains_key(SWARM)
    }

    /// Returns whether the entry may be delivered between tool calls.
    pub fn is_urgent(&self) -> bool {
        self.swarm.as_ref().is_some_and(|mark| mark.urgent)
    }
}

/// An element of an inbox file that is not an entry.
#[derive(Debug, Clone)]
pub struct Malformed {
    /// The element as written in the file.
    pub raw: Box<RawValue>,
    /// Reason for which it is not an entry.
    pub reason: String,
}

/// A parsed inbox: the valid entries in order, and the malformed elements.
#[derive(Debug, Clone, Default)]
pub struct ParsedInbox {
    /// The entries, oldest first.
    pub entries: Vec<InboxEntry>,
    /// Elements that are not entries.
    pub malformed: Vec<Malformed>,
}

/// Parses an inbox file. A malformed element does not affect the others.
///
/// # Errors
/// If the bytes are not a JSON array. An empty file counts as an empty array because Claude Code
/// creates the file before it writes to it.
pub fn parse_inbox(bytes: &[u8]) -> Result<ParsedInbox, serde_json::Error> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(ParsedInbox::default());
    }
    let elements: Vec<Box<RawValue>> = serde_json::from_slice(bytes)?;
    let mut inbox = ParsedInbox::default();
    for raw in elements {
        match parse_repaired::<InboxEntry>(raw.get()) {
            Ok(entry) => inbox.entries.push(entry),
            Err(error) => inbox.malformed.push(Malformed {
                raw,
                reason: error.to_string(),
            }),
        }
    }
    Ok(inbox)
}

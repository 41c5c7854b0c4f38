//! Identifiers of messages, spawns, sessions, requests, panes and tasks.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{InvalidText, MemberName, TeamName, serde_as_text, with_commas, wraps_text};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps an id as read.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }
        }

        wraps_text!($name);
    };
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Creates a random id.
            pub fn random() -> Self {
                Self(Uuid::new_v4())
            }

            /// Returns the UUID.
            pub fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

text_id!(
    /// `msg_id` of an inbox entry: a random UUID if written by swarm or Claude Code, any text
    /// otherwise.
    MessageId
);
text_id!(
    /// Id of a pending request: `shutdown-<ms>@<name>`, `perm-<ms>-<7 base36>`,
    /// `plan_approval-<ms>@<name>@<team>`.
    RequestId
);
uuid_id!(
    /// One spawn of a member. A respawn under the same name has a new id, which distinguishes it
    /// from its predecessor.
    SpawnId
);
uuid_id!(
    /// One session of an agent; names its transcript file.
    SessionId
);

impl SessionId {
    /// Returns the name under which the session holds its lease on a hub.
    pub fn holder(self) -> MemberName {
        MemberName::reserved(self)
    }

    /// Returns the first 8 hex digits.
    pub fn short(self) -> String {
        let mut id = self.0.simple().to_string();
        id.truncate(8);
        id
    }
}

uuid_id!(
    /// Budget that is set aside for one model request.
    ReservationId
);
uuid_id!(
    /// An order for a node.
    OrderId
);

/// Id of a sub-agent: `a` and 16 hex digits, as in Claude Code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubAgentId(String);

impl SubAgentId {
    /// Creates a random id.
    pub fn random() -> Self {
        let (high, _) = Uuid::new_v4().as_u64_pair();
        Self(format!("a{high:016x}"))
    }
}

wraps_text!(SubAgentId);

impl FromStr for SubAgentId {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        match text.strip_prefix('a') {
            Some(digits) if digits.len() == 16 && digits.chars().all(is_digit) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(InvalidText::new(
                text,
                "a sub-agent id: use `a` followed by 16 hex digits",
            )),
        }
    }
}

serde_as_text!(SubAgentId);

impl MessageId {
    /// Creates a random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4().to_string())
    }
}

/// Returns seven random base-36 digits.
fn random_digits() -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut chance = Uuid::new_v4().as_u128();
    let digits = (0..7).map(|_| {
        let digit = DIGITS[(chance % 36) as usize];
        chance /= 36;
        char::from(digit)
    });
    digits.collect()
}

impl RequestId {
    /// Returns the id of a shutdown request to a member. Claude Code accepts only this form.
    pub fn shutdown(now_ms: u64, target: &MemberName) -> Self {
        Self(format!("shutdown-{now_ms}@{target}"))
    }

    /// Creates an id of a network access request: `sandbox-<ms>-<7 base36>`, as Claude Code does.
    pub fn sandbox(now_ms: u64) -> Self {
        Self(format!("sandbox-{now_ms}-{}", random_digits()))
    }

    /// Returns the id of a permission request: the time and seven random base-36 digits.
    pub fn permission(now_ms: u64) -> Self {
        Self(format!("perm-{now_ms}-{}", random_digits()))
    }

    /// Returns the id of a plan approval request.
    pub fn plan(now_ms: u64, member: &MemberName, team: &TeamName) -> Self {
        Self(format!("plan_approval-{now_ms}@{member}@{team}"))
    }

    /// Returns the part by which people refer to a request: the random suffix of a request
    /// for permission or network access, otherwise the whole id.
    pub fn short(&self) -> &str {
        let tail = ["perm-", "sandbox-"];
        let tail = tail.iter().find_map(|kind| self.0.strip_prefix(kind));
        let tail = tail.and_then(|rest| rest.rsplit_once('-'));
        tail.map_or(&self.0, |(_, tail)| tail)
    }

    /// Returns whether the text is a valid file name. Input from people is checked before a path is
    /// built from it.
    pub fn is_file_name(&self) -> bool {
        !self.0.is_empty()
            && self.0.len() <= 200
            && !self.0.starts_with('.')
            && self
                .0
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_@.".contains(&b))
    }
}

/// Location of a member: `%N` in tmux, `leader` for the lead, `headless:<spawn id>` without a
/// terminal, empty until the pane exists. A missing field is distinguished from an empty one so
/// that the file is written back unchanged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct PaneId(Option<String>);

impl PaneId {
    /// Wraps an id as read.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Some(text.into()))
    }

    /// Returns the pane id of the lead's roster entry.
    pub fn leader() -> Self {
        Self::new("leader")
    }

    /// No pane yet.
    pub fn none() -> Self {
        Self::new("")
    }

    /// The field is missing from the roster entry.
    pub(crate) fn absent() -> Self {
        Self(None)
    }

    /// Returns the id as text; empty until the pane exists.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Returns whether the pane does not exist yet.
    pub fn is_none(&self) -> bool {
        self.as_str().is_empty()
    }

    /// Returns whether the field is missing from the roster entry.
    pub(crate) fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<String> for PaneId {
    fn from(text: String) -> Self {
        Self(Some(text))
    }
}

impl From<PaneId> for String {
    fn from(id: PaneId) -> String {
        id.0.unwrap_or_default()
    }
}

/// Number of a task in its list, starting at 1; a decimal string on disk and in tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u64);

impl TaskId {
    /// Creates the id with this number.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TaskId {
    type Err = InvalidText;
    fn from_str(text: &str) -> Result<Self, InvalidText> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let canonical = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        match digits.parse() {
            Ok(number) if canonical => Ok(Self(number)),
            _ => Err(InvalidText::new(
                text,
                "a task id: use the number that `swarm task list` shows",
            )),
        }
    }
}

serde_as_text!(TaskId);

/// Lists task numbers: `#1, #3`.
pub fn task_numbers(ids: impl IntoIterator<Item = impl fmt::Display>) -> String {
    with_commas(ids.into_iter().map(|id| format!("#{id}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ids_are_decimal_numbers() {
        assert_eq!("7".parse(), Ok(TaskId::new(7)));
        assert_eq!("#7".parse(), Ok(TaskId::new(7)));
        for bad in [
            "",
            "0",
            "007",
            "-1",
            "+1",
            "1.5",
            "../1",
            "x",
            "99999999999999999999999",
        ] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn permission_ids_have_the_documented_format() {
        let id = RequestId::permission(1_795_195_848_228);
        let tail = id.as_str().strip_prefix("perm-1795195848228-").unwrap();
        assert_eq!(tail.len(), 7);
        assert!(
            tail.bytes()
                .all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
        );
        assert_eq!(id.short(), tail);
        assert_eq!(
            RequestId::new("plan_approval-1@a@b").short(),
            "plan_approval-1@a@b"
        );
        assert!(id.is_file_name());
        assert!(!RequestId::new("../x").is_file_name());
    }
}

//! Messages between sessions on one machine, over the receiver's socket: lines of JSON.
//!
//! Names and limits are those of Claude Code 2.1.224 as far as they are known; the frames after
//! the first line are swarm's own.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{MessageId, PermissionMode, SessionId, TeamName, UnixMs, named_enum};

/// The beginning of a session's address; its socket's path follows.
pub const SESSION_ADDRESS: &str = "uds:";

/// Longest frame in characters, as in Claude Code.
pub const LONGEST_FRAME: usize = 1_048_576;

/// Returns the socket's path of an address; `None` if the text is not a session's address.
pub fn session_socket(address: &str) -> Option<&Path> {
    address
        .trim()
        .strip_prefix(SESSION_ADDRESS)
        .map(|path| Path::new(path.trim()))
}

named_enum! {
    /// Whether the sender of a message asks a person before it acts.
    pub enum PeerMode {
        /// It runs without permission prompts.
        Bypass = "bypass",
        /// It asks.
        Prompting = "prompting",
    }
}

impl PeerMode {
    /// Returns the value for a permission mode.
    pub fn of(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::BypassPermissions => Self::Bypass,
            _ => Self::Prompting,
        }
    }
}

named_enum! {
    /// What a session does with messages of other sessions: the setting `peers.inbound`.
    #[derive(Default)]
    pub enum PeerInbound {
        /// Refuses them.
        Refuse = "refuse",
        /// Shows them, and adds them to the conversation together with the person's next prompt.
        Hold = "hold",
        /// Accepts those of sessions with the same [`PeerMode`] and holds the others.
        #[default]
        Auto = "auto",
        /// Accepts them.
        Accept = "accept",
    }
}

impl PeerInbound {
    /// Returns what happens to a message of `sender` to a session in `own`: never `Auto`.
    #[must_use]
    pub fn for_message(self, sender: PeerMode, own: PeerMode) -> Self {
        match self {
            Self::Auto if sender == own => Self::Accept,
            Self::Auto => Self::Hold,
            decided => decided,
        }
    }
}

/// A session that can be written to: `swarm/peers/SESSION.json` in the config directory, mode 0600.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerRecord {
    /// Session id of the lead.
    pub session: SessionId,
    /// Its team, if it was chosen when the session started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamName>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Path of the socket.
    pub socket: PathBuf,
    /// The first line of a connection contains it.
    pub token: String,
    /// Process id.
    pub pid: u32,
    /// Start time of the process, in clock ticks since boot.
    pub proc_start: String,
    /// When the session started.
    pub started_at: UnixMs,
}

impl PeerRecord {
    /// Returns the address for messages.
    pub fn address(&self) -> String {
        format!("{SESSION_ADDRESS}{}", self.socket.display())
    }
}

/// A line of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum PeerFrame {
    /// The first line.
    Auth {
        /// The receiver's token.
        token: String,
    },
    /// The second line.
    Message(PeerMessage),
    /// An answer of the receiver. `queued` is followed by `delivered`, if the sender waits.
    Status(PeerStatus),
}

/// A message of another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerMessage {
    /// Its id; a repeated message with the same id is delivered once.
    pub msg_id: MessageId,
    /// Address of the sender, or `user` for a person's command.
    pub from: String,
    /// Whether the sender asks a person.
    pub from_mode: PeerMode,
    /// The text. Control frames in it have no effect.
    pub text: String,
}

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerDelivery {
    /// The session will read it. It is lost if the session ends before.
    Queued,
    /// It is shown and waits for the person's next prompt.
    Held,
    /// It is in the transcript on disk.
    Delivered,
    /// It was not delivered.
    Expired,
}

/// The receiver's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// The message.
    pub msg_id: MessageId,
    /// How far it has come.
    pub status: PeerDelivery,
    /// `refused` if a setting or a limit was the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_detail: Option<String>,
    /// Why it was dropped, for people and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop_reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_objects_with_a_type() {
        let message = PeerFrame::Message(PeerMessage {
            msg_id: MessageId::new("m"),
            from: "uds:/s".to_owned(),
            from_mode: PeerMode::Bypass,
            text: "hi".to_owned(),
        });
        let json = serde_json::to_string(&message).unwrap();
        let expected =
            r#"{"type":"message","msg_id":"m","from":"uds:/s","from_mode":"bypass","text":"hi"}"#;
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<PeerFrame>(&json).unwrap(), message);
    }

    #[test]
    fn by_default_only_sessions_of_the_same_kind_are_accepted() {
        use PeerInbound::{Accept, Auto, Hold, Refuse};
        use PeerMode::{Bypass, Prompting};
        assert_eq!(Auto.for_message(Prompting, Prompting), Accept);
        assert_eq!(Auto.for_message(Prompting, Bypass), Hold);
        assert_eq!(Auto.for_message(Bypass, Prompting), Hold);
        assert_eq!(Accept.for_message(Bypass, Prompting), Accept);
        assert_eq!(Refuse.for_message(Bypass, Bypass), Refuse);
    }
}

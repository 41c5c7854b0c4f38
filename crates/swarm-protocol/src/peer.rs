//! Other sessions that can be written to, and messages between them.
//!
//! Names and limits are those of Claude Code.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{MessageId, PermissionMode, SessionId, TeamName, UnixMs, named_enum};

/// The beginning of the address of a session on this machine; its socket's path follows.
const SOCKET: &str = "uds:";

/// The beginning of the address of a session on a hub; the short form of its id follows.
const BRIDGE: &str = "bridge:";

/// Longest frame in characters, as in Claude Code.
pub const LONGEST_FRAME: usize = 1_048_576;

/// The address of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerAddress<'a> {
    /// A session on this machine, by the path of its socket.
    Socket(&'a Path),
    /// A session on a hub, by the short form of its id.
    Bridge(&'a str),
}

impl<'a> PeerAddress<'a> {
    /// Parses an address; `None` if the text is not a session's address.
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix(SOCKET) {
            return Some(Self::Socket(Path::new(path.trim())));
        }
        text.strip_prefix(BRIDGE).map(|id| Self::Bridge(id.trim()))
    }

    /// Returns whether the session is on a hub.
    pub fn is_bridge(self) -> bool {
        matches!(self, Self::Bridge(_))
    }
}

impl fmt::Display for PeerAddress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{SOCKET}{}", path.display()),
            Self::Bridge(id) => write!(f, "{BRIDGE}{}", id.escape_debug()),
        }
    }
}

/// A session that can be written to, as others see it. On a hub, it is the session's entry there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerSession {
    /// Address for messages.
    pub address: String,
    /// Session id of the lead.
    pub session: SessionId,
    /// Its team, if it was chosen when the session started.
    pub team: Option<TeamName>,
    /// Its program and version; `None` for a lead of swarm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Host name; `None` for a session on this machine.
    pub host: Option<String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Process id.
    pub pid: u32,
    /// When the session started.
    pub started_at: UnixMs,
}

impl PeerSession {
    /// Returns the session as it is on a hub: with another address, and the host.
    #[must_use]
    pub fn on_hub(self, host: String) -> Self {
        Self {
            address: PeerAddress::Bridge(&self.session.short()).to_string(),
            host: Some(host),
            ..self
        }
    }
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
    /// Returns what others see of it.
    pub fn public(&self) -> PeerSession {
        PeerSession {
            address: PeerAddress::Socket(&self.socket).to_string(),
            session: self.session,
            team: self.team.clone(),
            program: None,
            host: None,
            cwd: self.cwd.clone(),
            pid: self.pid,
            started_at: self.started_at,
        }
    }
}

/// A message of another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerMessage {
    /// Its id; a repeated message with the same id is delivered once.
    pub msg_id: MessageId,
    /// Address of the sender, or `user` for a person's command, with `@HOST` on a hub.
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
    fn an_address_names_a_socket_or_a_session_on_a_hub() {
        let socket = PeerAddress::Socket(Path::new("/s"));
        assert_eq!(PeerAddress::parse(" uds: /s "), Some(socket));
        assert_eq!(socket.to_string(), "uds:/s");
        let bridge = PeerAddress::Bridge("1a2b3c4d");
        assert_eq!(PeerAddress::parse("bridge:1a2b3c4d "), Some(bridge));
        assert_eq!(bridge.to_string(), "bridge:1a2b3c4d");
        assert!(bridge.is_bridge() && !socket.is_bridge());
        for name in ["alice", "udsx", "a@b", "*", ""] {
            assert_eq!(PeerAddress::parse(name), None, "{name}");
        }
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

//! The frames of messages between sessions: lines of JSON over the receiver's socket, or entries of
//! the receiver's log on a hub.
//!
//! Leads of swarm have frames of their own, which also say that a message is in the transcript.
//! Sessions of Claude Code exchange [`ClaudeMessage`] and [`ClaudeReceipt`].

use serde::{Deserialize, Serialize};

use crate::{ClaudeMessage, ClaudeReceipt, PeerMessage, PeerStatus};

/// A line of a connection, or an entry of the receiver's log, which has no [`PeerFrame::Auth`].
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
    /// The second line of a session of Claude Code.
    User(ClaudeMessage),
    /// What a session of Claude Code answers, on a connection of its own.
    Control(ClaudeReceipt),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, PeerMode};

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
}

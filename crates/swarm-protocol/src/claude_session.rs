//! Messages between a lead and sessions of Claude Code on the same machine, as Claude Code 2.1.332
//! exchanges them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::envelope::cross_session_envelope;
use crate::{
    MessageId, PeerAddress, PeerDelivery, PeerMessage, PeerMode, PeerSession, PeerStatus,
    SessionId, UnixMs, content_digest,
};

/// The version of the exchange.
pub const CLAUDE_PEER_PROTOCOL: u32 = 1;

/// A session: `sessions/PID.json` in the config directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaudeSession {
    /// Process id.
    pub pid: u32,
    /// Id of the conversation.
    pub session_id: SessionId,
    /// Working directory.
    pub cwd: PathBuf,
    /// When the session started.
    pub started_at: UnixMs,
    /// Start time of the process, in clock ticks since boot.
    pub proc_start: String,
    /// Version of the program.
    pub version: String,
    /// Version of the exchange.
    pub peer_protocol: u32,
    /// `interactive` for a session with a terminal.
    pub kind: String,
    /// What started the session, such as `cli`.
    pub entrypoint: String,
    /// Path of the socket.
    pub messaging_socket_path: PathBuf,
    /// The name by which other sessions write to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ClaudeSession {
    /// Returns what others see of it.
    pub fn public(&self) -> PeerSession {
        PeerSession {
            address: PeerAddress::Socket(&self.messaging_socket_path).to_string(),
            session: self.session_id,
            team: None,
            program: Some(format!("Claude Code {}", self.version)),
            host: None,
            cwd: self.cwd.clone(),
            pid: self.pid,
            started_at: self.started_at,
        }
    }

    /// Returns the name of the file with the session's key, which is in the directory of its record.
    pub fn key_file(&self) -> String {
        let socket = self.messaging_socket_path.as_os_str().as_encoded_bytes();
        format!("{}.{}.key", self.pid, content_digest(socket))
    }
}

/// What a sender writes into the first line: `sessions/PID.DIGEST.key`, mode 0600.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaudeSessionKey {
    /// The token, 32 hex digits.
    pub peer_token: String,
    /// Start time of the process, in clock ticks since boot.
    pub proc_start: String,
}

/// A message, in either direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaudeMessage {
    /// Version of messages: 1.
    #[serde(rename = "msgV")]
    pub version: u32,
    /// Its id.
    pub msg_id: MessageId,
    /// The text in its envelope.
    pub message: ClaudeContent,
    /// When it is read: `next` is between two steps of a turn.
    pub priority: String,
    /// The address to which the receiver sends its [`ClaudeReceipt`].
    pub from: String,
}

/// What a session adds to its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaudeContent {
    /// `user`.
    pub role: String,
    /// The text in its envelope.
    pub content: String,
}

impl ClaudeMessage {
    /// Wraps a message. `reply_to` is the address for receipts.
    pub fn of(message: &PeerMessage, reply_to: String) -> Self {
        Self {
            version: 1,
            msg_id: message.msg_id.clone(),
            message: ClaudeContent {
                role: "user".to_owned(),
                content: cross_session_envelope(&message.from, message.from_mode, &message.text),
            },
            priority: "next".to_owned(),
            from: reply_to,
        }
    }

    /// Returns the message without its envelope. A sender that names no mode asks a person.
    pub fn opened(self) -> PeerMessage {
        let content = &self.message.content;
        let opened = content
            .strip_prefix("<cross-session-message ")
            .and_then(|rest| rest.split_once(">\n"))
            .and_then(|(head, text)| {
                Some((head, text.strip_suffix("\n</cross-session-message>")?))
            });
        let (head, text) = opened.unwrap_or(("", content));
        let bypass = format!("from-mode=\"{}\"", PeerMode::Bypass.name());
        PeerMessage {
            from_mode: if head.contains(&bypass) {
                PeerMode::Bypass
            } else {
                PeerMode::Prompting
            },
            text: text.to_owned(),
            msg_id: self.msg_id,
            from: self.from,
        }
    }
}

/// What became of a message that was not simply added to the conversation. The receiver connects to
/// the sender for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaudeReceipt {
    /// `peer_message_status`.
    pub action: String,
    /// How far the message has come.
    pub status: ClaudeDelivery,
    /// `refused` if a setting was the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_detail: Option<String>,
    /// Why, for people and models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Address of the receiver.
    pub from: String,
    /// The message.
    pub orig_msg_id: MessageId,
    /// Version of messages: 1.
    #[serde(rename = "msgV")]
    pub version: u32,
    /// The receipt's own id.
    pub msg_id: MessageId,
}

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaudeDelivery {
    /// It waits for the person.
    Held,
    /// The person dropped it.
    Denied,
    /// The person let the model read it.
    Delivered,
    /// It was not delivered.
    Expired,
}

impl ClaudeReceipt {
    /// Returns the receipt for a status; `None` for one that Claude Code expects without a receipt.
    pub fn of(status: &PeerStatus, from: String) -> Option<Self> {
        let delivery = match status.status {
            PeerDelivery::Queued => return None,
            PeerDelivery::Held => ClaudeDelivery::Held,
            PeerDelivery::Delivered => ClaudeDelivery::Delivered,
            PeerDelivery::Expired => ClaudeDelivery::Expired,
        };
        Some(Self {
            action: "peer_message_status".to_owned(),
            status: delivery,
            status_detail: status.status_detail.clone(),
            reason: status.drop_reason.clone(),
            from,
            orig_msg_id: status.msg_id.clone(),
            version: 1,
            msg_id: MessageId::random(),
        })
    }

    /// Returns the status of the message.
    pub fn status(self) -> PeerStatus {
        let declined = self.status == ClaudeDelivery::Denied;
        let declined = declined.then(|| "its user declined it".to_owned());
        PeerStatus {
            msg_id: self.orig_msg_id,
            status: match self.status {
                ClaudeDelivery::Held => PeerDelivery::Held,
                ClaudeDelivery::Delivered => PeerDelivery::Delivered,
                ClaudeDelivery::Denied | ClaudeDelivery::Expired => PeerDelivery::Expired,
            },
            status_detail: self.status_detail,
            drop_reason: self.reason.or(declined),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PeerFrame;

    /// Lines of Claude Code 2.1.332, with shorter paths.
    const MESSAGE: &str = r#"{"msgV":1,"msg_id":"3a75a72d-118a-488e-9af6-46b85a99a79b","type":"user","message":{"role":"user","content":"<cross-session-message from=\"uds:/run/cc-socks/8.sock\" from-name=\"project-95\" from-mode=\"prompting\">\nhello\n</cross-session-message>"},"priority":"next","from":"uds:/run/cc-socks/8.sock"}"#;
    const RECEIPT: &str = r#"{"type":"control","action":"peer_message_status","status":"expired","status_detail":"refused","reason":"The recipient session is not accepting cross-session messages.","from":"uds:/run/cc-socks/8.sock","orig_msg_id":"977bc257-0400-4533-8bc9-32b58a7e89f7","msgV":1,"msg_id":"3e8b50f4-c5b9-49d5-b766-db485f7b698c"}"#;
    const SESSION: &str = r#"{"pid":8604,"sessionId":"fc143210-399b-478a-8aee-df90e6294ff5","cwd":"/work","startedAt":1795725773472,"procStart":"3453180","version":"2.1.332","peerProtocol":1,"peerFeatures":["notify_idle"],"kind":"interactive","entrypoint":"cli","pidDomain":"linux:x","messagingSocketPath":"/tmp/w/e/uds/run/xdg/cc-socks/7786.sock","name":"project-95","status":"idle"}"#;

    #[test]
    fn a_message_of_claude_code_is_read_without_its_envelope() {
        let Ok(PeerFrame::User(message)) = serde_json::from_str(MESSAGE) else {
            panic!("not a message");
        };
        let opened = message.clone().opened();
        assert_eq!(opened.text, "hello");
        assert_eq!(opened.from, "uds:/run/cc-socks/8.sock");
        assert_eq!(opened.from_mode, PeerMode::Prompting);
        let wrapped = ClaudeMessage::of(&opened, opened.from.clone());
        let content = message
            .message
            .content
            .replace(" from-name=\"project-95\"", "");
        assert_eq!(wrapped.message.content, content);
        let bypass = PeerMessage {
            from_mode: PeerMode::Bypass,
            ..opened
        };
        let wrapped = ClaudeMessage::of(&bypass, bypass.from.clone());
        assert_eq!(wrapped.opened(), bypass);
    }

    #[test]
    fn a_receipt_of_claude_code_is_a_status() {
        let Ok(PeerFrame::Control(receipt)) = serde_json::from_str(RECEIPT) else {
            panic!("not a receipt");
        };
        let status = receipt.clone().status();
        assert_eq!(status.status, PeerDelivery::Expired);
        assert_eq!(status.status_detail.as_deref(), Some("refused"));
        let written = ClaudeReceipt::of(&status, receipt.from.clone()).unwrap();
        let expected = ClaudeReceipt {
            msg_id: written.msg_id.clone(),
            ..receipt
        };
        assert_eq!(written, expected);
    }

    #[test]
    fn the_key_file_has_the_digest_of_the_socket_s_path() {
        let mut session: ClaudeSession = serde_json::from_str(SESSION).unwrap();
        session.pid = 7786;
        let digest = "aa35a120a9c9fcd03ace88112b08465f4b008aabf06bc0a1d3051ddd2a166116";
        assert_eq!(session.key_file(), format!("7786.{digest}.key"));
        assert_eq!(session.public().program.unwrap(), "Claude Code 2.1.332");
    }
}

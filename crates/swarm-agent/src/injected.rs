//! Input from outside: messages, and how urgent ones come in during a turn.

use std::fmt;

use async_trait::async_trait;
use swarm_protocol::MessageId;

/// One piece of input, ready for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// What the model reads, already framed and escaped.
    pub text: String,
    /// The messages that are delivered by this text; empty for a prompt that is no message. One message per piece,
    /// so that one that is known already can be left out alone.
    pub message_ids: Vec<MessageId>,
}

impl Injected {
    /// A text that is no message: a person's prompt, a note of the program.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            message_ids: Vec::new(),
        }
    }

    /// The text of one message.
    pub fn message(id: MessageId, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            message_ids: vec![id],
        }
    }
}

/// What became of delivered input. Both lists may be acknowledged once everything in them is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delivery {
    /// Messages that were added.
    pub added: Vec<MessageId>,
    /// Messages that were in the transcript already and were not added again.
    pub known: Vec<MessageId>,
}

/// Urgent mail that does not wait for the end of the turn.
#[async_trait]
pub trait Interjections: Send + Sync + fmt::Debug {
    /// What has come since the last call; asked after each tool call. Never waits for mail.
    async fn between_calls(&self) -> Vec<Injected>;

    /// These messages are in the durable transcript and may be acknowledged.
    async fn delivered(&self, ids: &[MessageId]);
}

/// For agents that get no mail.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInterjections;

#[async_trait]
impl Interjections for NoInterjections {
    async fn between_calls(&self) -> Vec<Injected> {
        Vec::new()
    }

    async fn delivered(&self, _ids: &[MessageId]) {}
}

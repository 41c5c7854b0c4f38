//! Input from outside the conversation: prompts, messages and interjections.

use std::fmt;

use async_trait::async_trait;
use swarm_protocol::{Envelope, MessageId};

/// One piece of input, ready for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// The text for the model, already framed and escaped.
    pub text: String,
    /// The messages that this text delivers; empty for a prompt. One message per piece, so that a
    /// piece that is already in the transcript can be left out.
    pub message_ids: Vec<MessageId>,
    /// Paths of images that are added to the text.
    pub images: Vec<String>,
}

impl Injected {
    /// Creates input that delivers no message: a person's prompt or a note of the program.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            message_ids: Vec::new(),
            images: Vec::new(),
        }
    }

    /// Creates a note of the program, framed as such.
    pub fn system(text: &str) -> Self {
        Self::prompt(Envelope::system(text).render())
    }

    /// Creates input that delivers one message.
    pub fn message(id: MessageId, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            message_ids: vec![id],
            images: Vec::new(),
        }
    }
}

/// The outcome of a delivery. Both lists may be acknowledged once everything in them is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delivery {
    /// Messages that were added.
    pub added: Vec<MessageId>,
    /// Messages that were already in the transcript and were not added again.
    pub known: Vec<MessageId>,
}

/// A source of urgent mail, which is delivered between two tool calls instead of after the turn.
#[async_trait]
pub trait Interjections: Send + Sync + fmt::Debug {
    /// Returns the input since the last call without waiting. Called after each tool call.
    async fn between_calls(&self) -> Vec<Injected>;

    /// Reports messages that are in the durable transcript and may be acknowledged.
    async fn delivered(&self, ids: &[MessageId]);
}

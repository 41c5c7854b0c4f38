//! What the server answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

/// One block of a model's message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text for the reader.
    Text(String),
    /// Thought, with the signature that must come back unchanged.
    Thinking {
        /// The thought.
        text: String,
        /// What the client must replay.
        signature: String,
    },
    /// A call of a tool.
    ToolUse {
        /// Id of the call.
        id: String,
        /// The tool.
        name: String,
        /// Its input.
        input: Value,
    },
}

impl Block {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A call.
    pub fn tool(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self::ToolUse {
            id: id.into(),
            name: name.into(),
            input,
        }
    }
}

/// The HTTP status of an answer that is no message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) retry_after: Option<String>,
    /// What it says; something made up where that does not matter.
    pub(crate) message: Option<String>,
}

/// One answer: a message or a refusal, and what goes wrong on its way.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) blocks: Vec<Block>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) error_after: Option<(usize, String)>,
    pub(crate) cut_after: Option<usize>,
    pub(crate) held_by: Option<(Gate, usize)>,
}

impl Reply {
    /// A message of these blocks. It stops for tools if it calls one, else it ends the turn.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self {
            blocks: blocks.into_iter().collect(),
            refusal: None,
            stop_reason: None,
            error_after: None,
            cut_after: None,
            held_by: None,
        }
    }

    /// A text that ends the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::blocks([Block::text(text)])
    }

    /// One tool call.
    pub fn tool(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self::blocks([Block::tool(id, name, input)])
    }

    /// An HTTP error, with the word that the API uses for its kind.
    pub fn refusal(status: u16) -> Self {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        let mut reply = Self::blocks([]);
        reply.refusal = Some(Refusal {
            status,
            kind: kind.to_owned(),
            retry_after: None,
            message: None,
        });
        reply
    }

    /// The refusal of a prompt of so many tokens, in the words of the API.
    pub fn too_long(tokens: u64, window: u64) -> Self {
        let mut reply = Self::refusal(400);
        if let Some(refusal) = &mut reply.refusal {
            refusal.message = Some(format!(
                "prompt is too long: {tokens} tokens > {window} maximum"
            ));
        }
        reply
    }

    /// Adds the header `retry-after` to a refusal.
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        if let Some(refusal) = &mut self.refusal {
            refusal.retry_after = Some(value.into());
        }
        self
    }

    /// Another stop reason than the blocks suggest.
    #[must_use]
    pub fn stops_with(mut self, reason: impl Into<String>) -> Self {
        self.stop_reason = Some(reason.into());
        self
    }

    /// After this many events the stream carries an error of this kind and ends.
    #[must_use]
    pub fn fails_in_stream(mut self, events: usize, kind: impl Into<String>) -> Self {
        self.error_after = Some((events, kind.into()));
        self
    }

    /// After this many events the connection is closed.
    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.cut_after = Some(events);
        self
    }

    /// After this many events nothing more is sent until the gate opens. With 0, not even the response's head.
    #[must_use]
    pub fn held_by(mut self, gate: &Gate, events: usize) -> Self {
        self.held_by = Some((gate.clone(), events));
        self
    }

    pub(crate) fn stop_reason(&self) -> &str {
        let calls = self
            .blocks
            .iter()
            .any(|block| matches!(block, Block::ToolUse { .. }));
        match &self.stop_reason {
            Some(reason) => reason,
            None if calls => "tool_use",
            None => "end_turn",
        }
    }
}

/// Something that a reply waits for until the test lets it go on.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// A closed gate.
    pub fn closed() -> Self {
        Self::default()
    }

    /// Lets everybody through, from here on.
    pub fn open(&self) {
        let (open, changed) = &*self.0;
        *open.lock() = true;
        changed.notify_all();
    }

    /// Waits until the gate is open; says whether it was, or the time ran out.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let (open, changed) = &*self.0;
        let until = Instant::now() + longest;
        let mut is_open = open.lock();
        while !*is_open {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            changed.wait_for(&mut is_open, left);
        }
        true
    }
}

//! Responses of the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

/// A block of a model message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// Thinking, with the signature that must be returned unchanged.
    Thinking {
        /// The thinking text.
        text: String,
        /// The signature.
        signature: String,
    },
    /// A tool call.
    ToolUse {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Input of the call.
        input: Value,
    },
}

impl Block {
    /// Creates a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a tool call.
    pub fn tool(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self::ToolUse {
            id: id.into(),
            name: name.into(),
            input,
        }
    }
}

/// An HTTP error response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) retry_after: Option<String>,
    /// Error message; a default if it is irrelevant.
    pub(crate) message: Option<String>,
}

/// A response: a message or an error, and its faults.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) blocks: Vec<Block>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) error_after: Option<(usize, String)>,
    pub(crate) cut_after: Option<usize>,
    pub(crate) held_by: Option<(Gate, usize)>,
}

impl Reply {
    /// Creates a message of these blocks. Its stop reason is tool use if it contains a call,
    /// otherwise the end of the turn.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self {
            blocks: blocks.into_iter().collect(),
            refusal: None,
            error_after: None,
            cut_after: None,
            held_by: None,
        }
    }

    /// Creates a text that ends the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::blocks([Block::text(text)])
    }

    /// Creates one tool call.
    pub fn tool(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self::blocks([Block::tool(id, name, input)])
    }

    /// Creates an HTTP error with the API's word for its kind.
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

    /// Creates the error for a prompt of this many tokens, in the words of the API.
    pub fn too_long(tokens: u64, window: u64) -> Self {
        let mut reply = Self::refusal(400);
        if let Some(refusal) = &mut reply.refusal {
            refusal.message = Some(format!(
                "prompt is too long: {tokens} tokens > {window} maximum"
            ));
        }
        reply
    }

    /// Adds the header `retry-after` to an error.
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        if let Some(refusal) = &mut self.refusal {
            refusal.retry_after = Some(value.into());
        }
        self
    }

    /// Sends an error of this kind after this many events and ends the stream.
    #[must_use]
    pub fn fails_in_stream(mut self, events: usize, kind: impl Into<String>) -> Self {
        self.error_after = Some((events, kind.into()));
        self
    }

    /// Closes the connection after this many events.
    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.cut_after = Some(events);
        self
    }

    /// Sends nothing after this many events until the gate opens. With 0, not even the response
    /// head.
    #[must_use]
    pub fn held_by(mut self, gate: &Gate, events: usize) -> Self {
        self.held_by = Some((gate.clone(), events));
        self
    }

    pub(crate) fn stop_reason(&self) -> &'static str {
        let calls = self
            .blocks
            .iter()
            .any(|block| matches!(block, Block::ToolUse { .. }));
        if calls { "tool_use" } else { "end_turn" }
    }
}

/// A gate that delays a reply until the test opens it.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Creates a closed gate.
    pub fn closed() -> Self {
        Self::default()
    }

    /// Creates a closed gate, and a second handle of it for a script.
    pub fn pair() -> (Self, Self) {
        let gate = Self::closed();
        (gate.clone(), gate)
    }

    /// Opens the gate permanently.
    pub fn open(&self) {
        let (open, changed) = &*self.0;
        *open.lock() = true;
        changed.notify_all();
    }

    /// Waits until the gate is open; returns false on timeout.
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

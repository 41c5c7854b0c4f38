//! The APIs that the server speaks, told apart by where a request goes.

use serde_json::Value;

use super::reply::Reply;
use super::{chat_request, chat_stream, stream};

/// One of the APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The Messages API.
    Messages,
    /// The chat completions API.
    Chat,
}

impl Dialect {
    /// The API whose place a path is.
    pub(crate) fn of(path: &str) -> Option<Self> {
        if path.starts_with("/v1/messages") {
            Some(Self::Messages)
        } else if path == "/v1/chat/completions" {
            Some(Self::Chat)
        } else {
            None
        }
    }

    /// A request in the words of the Messages API; an error says what a strict server has against it.
    pub(crate) fn understood(self, body: &Value) -> Result<Value, String> {
        match self {
            Self::Messages => Ok(body.clone()),
            Self::Chat => chat_request::understood(body),
        }
    }

    /// A reply as it goes over the wire, event by event.
    pub(crate) fn frames(
        self,
        reply: &Reply,
        number: usize,
        model: &str,
        usage: &Value,
    ) -> Vec<String> {
        match self {
            Self::Messages => stream::events(reply, &format!("msg_{number:04}"), model, usage)
                .into_iter()
                .map(|(name, data)| stream::frame(name, &data))
                .collect(),
            Self::Chat => {
                chat_stream::frames(reply, &format!("chatcmpl-{number:04}"), model, usage)
            }
        }
    }

    /// The event with which a stream reports a failure.
    pub(crate) fn error_frame(self, kind: &str) -> String {
        let body = self.error_body(kind, &stream::made_up(kind));
        match self {
            Self::Messages => stream::frame("error", &body),
            Self::Chat => format!("data: {body}\n\n"),
        }
    }

    /// The body of a refusal.
    pub(crate) fn error_body(self, kind: &str, message: &str) -> Value {
        match self {
            Self::Messages => stream::error_body(kind, message),
            Self::Chat => chat_stream::error_body(kind, message),
        }
    }
}

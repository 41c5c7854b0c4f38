//! The APIs of the server, distinguished by request path.

use serde_json::Value;

use super::reply::Reply;
use super::{chat_request, chat_stream, stream};

/// An API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The Messages API.
    Messages,
    /// The chat completions API.
    Chat,
}

impl Dialect {
    /// Returns the API of a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        if path.starts_with("/v1/messages") {
            Some(Self::Messages)
        } else if path == "/v1/chat/completions" {
            Some(Self::Chat)
        } else {
            None
        }
    }

    /// Converts a request to the Messages API; the error is that of a strict server.
    pub(crate) fn understood(self, body: &Value) -> Result<Value, String> {
        match self {
            Self::Messages => Ok(body.clone()),
            Self::Chat => chat_request::understood(body),
        }
    }

    /// Encodes a reply, event by event.
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

    /// Returns the event that reports a failure in a stream.
    pub(crate) fn error_frame(self, kind: &str) -> String {
        let body = self.error_body(kind, &stream::made_up(kind));
        match self {
            Self::Messages => stream::frame("error", &body),
            Self::Chat => format!("data: {body}\n\n"),
        }
    }

    /// Returns the body of an error response.
    pub(crate) fn error_body(self, kind: &str, message: &str) -> Value {
        match self {
            Self::Messages => stream::error_body(kind, message),
            Self::Chat => chat_stream::error_body(kind, message),
        }
    }
}

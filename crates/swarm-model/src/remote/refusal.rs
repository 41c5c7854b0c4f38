//! Parses error responses of all known formats and classifies those that the API has no specific
//! rule for.
//!
//! The same rules apply to responses with an error status and to errors inside a stream that began
//! with status 200.

use serde_json::Value;
use swarm_protocol::shortened;

use super::failure::{Cause, Failure};
use crate::error::ModelError;
use crate::name::Provider;

/// An error that a server sent instead of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Refusal {
    /// The HTTP status, or the status that corresponds to an error inside a stream.
    pub(crate) status: u16,
    /// Error type, for example `overloaded_error`; empty if the server sends none.
    pub(crate) kind: String,
    /// Error code, more specific than `kind`, for example `model_not_found`; empty if the server
    /// sends none.
    pub(crate) code: String,
    pub(crate) message: String,
    /// Request id for the provider's support; empty if the server sends none.
    pub(crate) request_id: String,
}

/// Maximum length of a server message in characters; error pages of proxies can be long.
const MAX_MESSAGE_CHARS: usize = 400;

impl Refusal {
    /// Parses the body of a response with an error status. A body that is not JSON becomes the
    /// message.
    pub(crate) fn from_body(status: u16, body: &[u8]) -> Self {
        let known = serde_json::from_slice::<Value>(body).ok();
        let refusal = known.as_ref().and_then(Self::from_json);
        let refusal = refusal.unwrap_or_else(|| Self {
            message: plain(&String::from_utf8_lossy(body)),
            ..Self::default()
        });
        Self { status, ..refusal }
    }

    /// Finds an error in JSON that arrived instead of an answer or a chunk. Known formats:
    /// `{"error": {"message", "type", "code"}}` of most servers, `{"error": "text"}` of LM Studio
    /// and Ollama, `{"object": "error", "message", …}` of older vLLM, `{"detail": …}` of `FastAPI`,
    /// and any of them in a list.
    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        let json = match json {
            Value::Array(list) => list.first()?,
            other => other,
        };
        let error = match (&json["error"], &json["detail"]) {
            (error @ (Value::Object(_) | Value::String(_)), _) => error,
            (_, detail @ (Value::Object(_) | Value::String(_) | Value::Array(_))) => detail,
            _ if json["object"] == "error" || json["type"] == "error" => json,
            _ => return None,
        };
        let message = match (error, &error["message"]) {
            (_, Value::String(message)) | (Value::String(message), _) => message.clone(),
            (_, Value::Null) => error.to_string(),
            (_, other) => other.to_string(),
        };
        let kind = word(&error["type"]);
        let code = word(&error["code"]);
        let status = status_of(&kind, &code);
        Some(Self {
            status,
            kind,
            code,
            message,
            request_id: word(&json["request_id"]),
        })
    }

    /// Applies `clean` to the full message, before it is shortened.
    pub(super) fn redacted(self, clean: impl Fn(&str) -> String) -> Self {
        Self {
            message: clean(&self.message),
            ..self
        }
    }

    /// Returns the message in one line for display, shortened, or a default if there is none.
    pub(crate) fn line(&self) -> String {
        let words: Vec<&str> = self.message.split_whitespace().collect();
        let line = words.join(" ");
        // It becomes part of a sentence.
        let line = line.trim_end_matches('.');
        if line.is_empty() {
            return match self.kind.as_str() {
                "" => "no reason given".to_owned(),
                kind => kind.to_owned(),
            };
        }
        shortened(line, MAX_MESSAGE_CHARS)
    }

    /// Whether the message contains one of the needles, ignoring case.
    pub(crate) fn says(&self, needles: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        needles.iter().any(|needle| message.contains(needle))
    }
}

/// Reads a string or number of an error object; some servers write `null`, some the text `None`.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) if text != "None" => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Returns the title of an HTML error page, or the whole text if it has none.
fn plain(text: &str) -> String {
    let title = text
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    match title {
        Some((title, _)) => title.trim().to_owned(),
        None => text.trim().to_owned(),
    }
}

/// Returns the HTTP status that corresponds to an error type or code. Unknown types count as server
/// failures, which are retried.
fn status_of(kind: &str, code: &str) -> u16 {
    if let Ok(status @ 400..600) = code.parse::<u16>() {
        return status;
    }
    match kind {
        "invalid_request_error" | "BadRequestError" | "exceed_context_size_error" => 400,
        "authentication_error" | "AuthenticationError" => 401,
        "billing_error" | "insufficient_quota" => 402,
        "permission_error" => 403,
        "not_found_error" | "NotFoundError" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "unavailable_error" => 503,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// Classifies a refusal that the API has no specific rule for. `message` is the line for display,
/// without secrets.
pub(crate) fn classify(provider: Provider, refusal: &Refusal, message: String) -> Failure {
    let status = refusal.status;
    let address = provider.address_variable();
    match status {
        401 | 403 => ModelError::Auth { provider, message }.into(),
        402 => ModelError::Billing(message).into(),
        404 | 405 => ModelError::InvalidRequest(format!(
                "there is no {} at this address ({message}); check {address}",
                provider.api()
            ))
        .into(),
        413 => ModelError::ContextTooLong(message).into(),
        429 => Failure::transient(Cause::RateLimit, message),
        529 => Failure::transient(Cause::Overload, message),
        // Some gateways report an overload with a different status.
        500.. if refusal.says(&["overloaded"]) || refusal.kind == "overloaded_error" => {
            Failure::transient(Cause::Overload, message)
        }
        408 | 409 | 500.. => Failure::transient(Cause::Server, with_status(status, &message)),
        300..400 => ModelError::InvalidRequest(format!(
                "the server redirects to another address (status {status}); redirects are not followed, to protect the key; set {address} to the final address"
            ))
        .into(),
        400 => ModelError::InvalidRequest(message).into(),
        _ => ModelError::InvalidRequest(with_status(status, &message))
        .into(),
    }
}

fn with_status(status: u16, message: &str) -> String {
    format!("{message} (status {status})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_found_in_every_known_format() {
        for (body, kind, message) in [
            (
                r#"{"error":{"message":"bad","type":"t","param":null,"code":null}}"#,
                "t",
                "bad",
            ),
            (r#"{"error":"bad"}"#, "", "bad"),
            (
                r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
                "BadRequestError",
                "bad",
            ),
            (r#"{"detail":"bad"}"#, "", "bad"),
            (
                r#"[{"error":{"code":400,"message":"bad","status":"X"}}]"#,
                "",
                "bad",
            ),
            (r#"{"error":{"message":{"a":1}}}"#, "", r#"{"a":1}"#),
            (
                r#"{"detail":[{"loc":["body","x"],"msg":"bad"}]}"#,
                "",
                r#"[{"loc":["body","x"],"msg":"bad"}]"#,
            ),
            ("bad\n", "", "bad"),
            (
                "<html><head><title>502 Bad Gateway</title></head><body>long</body></html>",
                "",
                "502 Bad Gateway",
            ),
            ("{\"other\":1}", "", "{\"other\":1}"),
        ] {
            let refusal = Refusal::from_body(418, body.as_bytes());
            assert_eq!(
                (
                    refusal.status,
                    refusal.kind.as_str(),
                    refusal.message.as_str()
                ),
                (418, kind, message),
                "{body}"
            );
        }
    }

    #[test]
    fn an_error_inside_a_stream_maps_to_a_status() {
        let status = |error: &str| {
            let json: Value = serde_json::from_str(error).unwrap();
            Refusal::from_json(&json).unwrap().status
        };
        for (error, expected) in [
            (r#"{"error":{"type":"overloaded_error"}}"#, 529),
            (r#"{"error":{"type":"something_later"}}"#, 500),
            (r#"{"error":{"type":"invalid_request_error"}}"#, 400),
            (
                r#"{"error":{"message":"x","type":"None","code":"429"}}"#,
                429,
            ),
            (r#"{"error":{"message":"x","code":400}}"#, 400),
            (r#"{"error":{"message":"x","code":7}}"#, 500),
        ] {
            assert_eq!(status(error), expected, "{error}");
        }
        let piece: Value = serde_json::from_str(r#"{"choices":[],"error":null}"#).unwrap();
        assert_eq!(Refusal::from_json(&piece), None);
    }

    #[test]
    fn a_long_or_empty_message_becomes_one_short_line() {
        let long = Refusal::from_body(400, "é\n".repeat(5000).as_bytes());
        assert_eq!(long.line().chars().count(), MAX_MESSAGE_CHARS + 1);
        assert_eq!(Refusal::from_body(400, b"").line(), "no reason given");
    }
}

//! From a server's refusal to a failure: HTTP status or `error.type`, and its message.
//!
//! The same table serves responses with an error status and `error` events inside a stream that began with
//! status 200.

use serde::Deserialize;

use super::failure::{Cause, Failure};
use crate::error::ModelError;

/// The `error` object of the Messages API.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct ServerError {
    /// For example `overloaded_error`.
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    /// For people.
    #[serde(default)]
    pub(super) message: String,
}

/// The longest server message passed on, in characters; error pages of proxies can be long.
const LONGEST_MESSAGE: usize = 400;

impl ServerError {
    /// Reads the body of an error response. Anything that is not the API's JSON becomes the message as it
    /// is.
    pub(super) fn from_body(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: ServerError,
        }
        match serde_json::from_slice::<Body>(body) {
            Ok(body) => body.error,
            Err(_) => Self {
                kind: String::new(),
                message: String::from_utf8_lossy(body).trim().to_owned(),
            },
        }
    }

    /// The same error with its message passed through `clean`, before anything is cut off it.
    pub(super) fn cleaned(self, clean: impl Fn(&str) -> String) -> Self {
        Self {
            message: clean(&self.message),
            ..self
        }
    }

    /// One line for people: the message cut to a bearable length, or a stand-in when there is none.
    pub(super) fn line(&self) -> String {
        let words: Vec<&str> = self.message.split_whitespace().collect();
        let line = words.join(" ");
        if line.is_empty() {
            return match self.kind.as_str() {
                "" => "it gave no reason".to_owned(),
                kind => kind.to_owned(),
            };
        }
        match line.char_indices().nth(LONGEST_MESSAGE) {
            Some((cut, _)) => format!("{}…", &line[..cut]),
            None => line,
        }
    }
}

/// Status that stands for an `error.type`, for errors inside a stream. Unknown types count as failures of
/// the server, which are retried.
pub(super) fn status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// Sorts a refusal. `message` is the line for people, already without secrets.
pub(super) fn classify(status: u16, error: &ServerError, message: String, model: &str) -> Failure {
    match status {
        401 | 403 => ModelError::Auth { message }.into(),
        402 => ModelError::Billing { message }.into(),
        404 if error.kind == "not_found_error" => ModelError::UnknownModel {
            model: model.to_owned(),
            message,
        }
        .into(),
        404 => ModelError::InvalidRequest {
            message: format!(
                "there is no Messages API at this address ({message}); check ANTHROPIC_BASE_URL"
            ),
        }
        .into(),
        413 => ModelError::ContextTooLong { message }.into(),
        429 => Failure::transient(Cause::RateLimit, message),
        529 => Failure::transient(Cause::Overload, message),
        // Some gateways pass an overload on under a status of their own.
        500.. if error.kind == "overloaded_error" => Failure::transient(Cause::Overload, message),
        408 | 409 | 500.. => Failure::transient(Cause::Server, with_status(status, &message)),
        300..400 => ModelError::InvalidRequest {
            message: format!(
                "the server redirects elsewhere (status {status}), which is not followed so that the key stays where it belongs; set ANTHROPIC_BASE_URL to the final address"
            ),
        }
        .into(),
        _ if names_context_limit(&error.message) => ModelError::ContextTooLong { message }.into(),
        _ if error.message.contains("credit balance is too low") => {
            ModelError::Billing { message }.into()
        }
        400 => ModelError::InvalidRequest { message }.into(),
        _ => ModelError::InvalidRequest {
            message: with_status(status, &message),
        }
        .into(),
    }
}

fn with_status(status: u16, message: &str) -> String {
    format!("{message} (status {status})")
}

/// The API has no error type of its own for a full context window; these are its messages.
fn names_context_limit(message: &str) -> bool {
    message.contains("prompt is too long")
        || message.contains("exceed context limit")
        || message.contains("exceeds the context window")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(status: u16, body: &str) -> Failure {
        let error = ServerError::from_body(body.as_bytes());
        let line = error.line();
        classify(status, &error, line, "claude-x")
    }

    fn api(kind: &str, message: &str) -> String {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
    }

    fn word(failure: &Failure) -> &'static str {
        match failure {
            Failure::Final(ModelError::Auth { .. }) => "auth",
            Failure::Final(ModelError::Billing { .. }) => "billing",
            Failure::Final(ModelError::UnknownModel { .. }) => "model",
            Failure::Final(ModelError::InvalidRequest { .. }) => "invalid",
            Failure::Final(ModelError::ContextTooLong { .. }) => "long",
            Failure::Final(_) => "other",
            Failure::Transient(transient) => match transient.cause {
                Cause::RateLimit => "again: limit",
                Cause::Overload => "again: overload",
                Cause::Server => "again: server",
                _ => "again: other",
            },
        }
    }

    #[test]
    fn each_status_has_its_failure() {
        let invalid = |message| api("invalid_request_error", message);
        for (status, body, expected) in [
            (401, api("authentication_error", "bad key"), "auth"),
            (403, api("permission_error", "no"), "auth"),
            (402, api("billing_error", "pay"), "billing"),
            (400, invalid("Your credit balance is too low"), "billing"),
            (404, api("not_found_error", "model: claude-x"), "model"),
            (404, "<html>nothing here</html>".into(), "invalid"),
            (400, invalid("tools.0: bad"), "invalid"),
            (400, invalid("prompt is too long: 9 > 8"), "long"),
            (413, api("request_too_large", "too large"), "long"),
            (302, String::new(), "invalid"),
            (408, String::new(), "again: server"),
            (429, api("rate_limit_error", "slow"), "again: limit"),
            (500, api("api_error", "oops"), "again: server"),
            (502, "bad gateway".into(), "again: server"),
            (503, api("overloaded_error", "busy"), "again: overload"),
            (529, api("overloaded_error", "busy"), "again: overload"),
        ] {
            let failure = sort(status, &body);
            assert_eq!(word(&failure), expected, "{status} {body}: {failure:?}");
        }
    }

    #[test]
    fn an_error_type_inside_a_stream_stands_for_its_status() {
        assert_eq!(status_of("overloaded_error"), 529);
        assert_eq!(status_of("api_error"), 500);
        assert_eq!(status_of("something_later"), 500);
        assert_eq!(status_of("invalid_request_error"), 400);
    }

    #[test]
    fn a_long_or_empty_message_becomes_one_bearable_line() {
        let long = ServerError::from_body("é\n".repeat(5000).as_bytes());
        assert_eq!(long.line().chars().count(), LONGEST_MESSAGE + 1);
        assert_eq!(ServerError::from_body(b"").line(), "it gave no reason");
    }
}

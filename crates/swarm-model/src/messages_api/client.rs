//! The Messages API as a dialect of a remote API.

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use swarm_protocol::CacheLifetime;

use crate::error::ModelError;
use crate::name::Provider;
use crate::remote::{
    Address, Body, Connection, Dialect, Failure, Refusal, Secret, base_address, classify,
};
use crate::request::ModelRequest;

use super::answer::Answer;
use super::body::request_body;
use super::head::LastHead;

/// API version of this client (<https://docs.claude.com/en/api/versioning>).
const API_VERSION: &str = "2023-06-01";

const PROVIDER: Provider = Provider::Anthropic;

/// The Messages API with the settings of a client.
#[derive(Debug)]
pub(crate) struct MessagesApi {
    config: MessagesApiConfig,
    head: LastHead,
}

impl From<MessagesApiConfig> for MessagesApi {
    fn from(config: MessagesApiConfig) -> Self {
        Self {
            config,
            head: LastHead::default(),
        }
    }
}

impl Dialect for MessagesApi {
    type Answer = Answer;

    fn provider(&self) -> Provider {
        PROVIDER
    }

    fn address(&self) -> Result<Address, ModelError> {
        let mut address = Address::new(messages_url(&self.config.base_url)?);
        address.header(
            HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static(API_VERSION),
        );
        match (&self.config.auth_token, &self.config.api_key) {
            (Some(token), _) => address.credential(PROVIDER, AUTHORIZATION, "Bearer ", token)?,
            (None, Some(key)) => {
                let name = HeaderName::from_static("x-api-key");
                address.credential(PROVIDER, name, "", key)?;
                if self.config.sends_key_as_token {
                    address.credential(PROVIDER, AUTHORIZATION, "Bearer ", key)?;
                }
            }
            (None, None) => return Err(ModelError::NoKey(PROVIDER)),
        }
        Ok(address)
    }

    fn connection(&self) -> &Connection {
        &self.config.connection
    }

    fn takes_documents(&self) -> bool {
        true
    }

    fn secrets(&self) -> Vec<&Secret> {
        self.config
            .api_key
            .iter()
            .chain(&self.config.auth_token)
            .collect()
    }

    fn body(&self, request: &ModelRequest) -> Result<Body, ModelError> {
        request_body(request, self.config.cache, &self.head)
    }

    fn answer(&self, model: &str) -> Answer {
        Answer::new(model)
    }

    fn failure(&self, refusal: &Refusal, message: String, model: &str) -> Failure {
        match refusal.status {
            404 if refusal.kind == "not_found_error" => ModelError::UnknownModel {
                model: model.to_owned(),
                message,
            }
            .into(),
            400 | 422 if names_context_limit(refusal) => ModelError::ContextTooLong(message).into(),
            400 | 422 if refusal.says(&["credit balance is too low"]) => {
                ModelError::Billing(message).into()
            }
            _ => classify(PROVIDER, refusal, message),
        }
    }
}

/// Whether the context window is exceeded. The API has no error type for it, so this matches its
/// messages.
fn names_context_limit(refusal: &Refusal) -> bool {
    refusal.says(&[
        "prompt is too long",
        "exceed context limit",
        "exceeds the context window",
    ])
}

fn messages_url(base: &str) -> Result<Url, ModelError> {
    let mut url = base_address(PROVIDER, base)?;
    let path = format!("{}/v1/messages", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// Settings of a client of the Messages API.
#[derive(Debug, Clone)]
pub struct MessagesApiConfig {
    /// Address of the server, without `/v1/messages`.
    pub base_url: String,
    /// Sent as `x-api-key`, unless there is an `auth_token`.
    pub api_key: Option<Secret>,
    /// Whether `api_key` is also sent as `Authorization: Bearer`, as Claude Code does with the keys of
    /// `apiKeyHelper`, which may be for another server.
    pub sends_key_as_token: bool,
    /// Sent as `Authorization: Bearer`; takes precedence over `api_key`, as in Claude Code.
    pub auth_token: Option<Secret>,
    /// Lifetime of prompt cache entries.
    pub cache: CacheLifetime,
    /// Proxy, timeouts and retries.
    pub connection: Connection,
}

impl Default for MessagesApiConfig {
    fn default() -> Self {
        Self {
            base_url: "https://api.anthropic.com".to_owned(),
            api_key: None,
            sends_key_as_token: false,
            auth_token: None,
            cache: CacheLifetime::default(),
            connection: Connection::to_service(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::fake_server::failure_word;

    #[test]
    fn the_address_is_completed() {
        let url = |base| messages_url(base).map(String::from).unwrap();
        assert_eq!(
            url("https://api.anthropic.com"),
            "https://api.anthropic.com/v1/messages"
        );
        assert_eq!(
            url("http://127.0.0.1:8080/gateway/"),
            "http://127.0.0.1:8080/gateway/v1/messages"
        );
    }

    #[test]
    fn the_token_takes_precedence_over_the_key_and_debug_shows_neither() {
        let both = MessagesApiConfig {
            base_url: "http://127.0.0.1:1".into(),
            api_key: Some(Secret::new("sk-test")),
            auth_token: Some(Secret::new("token-1")),
            ..MessagesApiConfig::default()
        };
        let address = MessagesApi::from(both.clone()).address().unwrap();
        assert_eq!(address.headers()["authorization"], "Bearer token-1");
        assert!(!address.headers().contains_key("x-api-key"));
        let key = MessagesApiConfig {
            auth_token: None,
            sends_key_as_token: true,
            ..both.clone()
        };
        let headers = MessagesApi::from(key).address().unwrap();
        let headers = headers.headers();
        assert_eq!(headers["authorization"], "Bearer sk-test");
        assert_eq!(headers["x-api-key"], "sk-test");
        let shown = format!("{both:?} {address:?}");
        assert!(
            !shown.contains("token-1") && !shown.contains("sk-test"),
            "{shown}"
        );
    }

    fn sort(status: u16, body: &str) -> Failure {
        let refusal = Refusal::from_body(status, body.as_bytes());
        let line = refusal.line();
        MessagesApi::from(MessagesApiConfig::default()).failure(&refusal, line, "claude-x")
    }

    fn api(kind: &str, message: &str) -> String {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
    }

    #[test]
    fn each_status_maps_to_a_failure() {
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
            assert_eq!(
                failure_word(&failure),
                expected,
                "{status} {body}: {failure:?}"
            );
        }
    }
}

//! Settings of the client. The caller collects them; nothing here reads the environment.

use std::time::Duration;

use super::retry::RetryPolicy;
use super::secret::Secret;

/// Settings of a [`super::MessagesApi`] client.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagesApiConfig {
    /// Address of the server, without `/v1/messages`.
    pub base_url: String,
    /// Sent as `x-api-key`, unless there is an `auth_token`.
    pub api_key: Option<Secret>,
    /// Sent as `Authorization: Bearer`; goes before `api_key`, as in Claude Code.
    pub auth_token: Option<Secret>,
    /// Address of a proxy, with its user and password if it wants them.
    pub proxy: Option<Secret>,
    /// Hosts reached without the proxy, separated by commas, as in the variable `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// Values of the `anthropic-beta` header.
    pub betas: Vec<String>,
    /// The longest time to set up a connection.
    pub connect_timeout: Duration,
    /// The longest silence: before the answer starts and between two events of its stream. An answer may
    /// take as long as it likes.
    pub idle_timeout: Duration,
    /// What happens after transient failures.
    pub retry: RetryPolicy,
}

impl Default for MessagesApiConfig {
    fn default() -> Self {
        Self {
            base_url: "https://api.anthropic.com".to_owned(),
            api_key: None,
            auth_token: None,
            proxy: None,
            no_proxy: None,
            betas: Vec::new(),
            connect_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(90),
            retry: RetryPolicy::default(),
        }
    }
}

impl MessagesApiConfig {
    /// Replaces every secret in a text that came from outside: some gateways quote the key they refuse.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for secret in [&self.api_key, &self.auth_token, &self.proxy]
            .into_iter()
            .flatten()
        {
            if !secret.reveal().is_empty() {
                clean = clean.replace(secret.reveal(), "[secret]");
            }
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_and_redacted_text_hold_no_secret() {
        let config = MessagesApiConfig {
            api_key: Some(Secret::new("sk-ant-key\n")),
            auth_token: Some(Secret::new("token-1")),
            proxy: Some(Secret::new("http://me:password@proxy")),
            ..MessagesApiConfig::default()
        };
        let shown = format!("{config:?}");
        for secret in ["sk-ant-key", "token-1", "http://me:password@proxy"] {
            assert!(!shown.contains(secret), "{shown}");
            assert_eq!(
                config.redact(&format!("bad key {secret}!")),
                "bad key [secret]!"
            );
        }
    }
}

//! Settings of the client. The caller collects them; nothing here reads the environment.

use swarm_protocol::CacheLifetime;

use crate::remote::Connection;
use crate::secret::Secret;

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
    /// Values of the `anthropic-beta` header.
    pub betas: Vec<String>,
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
            betas: Vec::new(),
            cache: CacheLifetime::default(),
            connection: Connection::to_service(),
        }
    }
}

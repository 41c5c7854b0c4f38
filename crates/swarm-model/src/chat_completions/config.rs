//! Settings of the client. The caller collects them; nothing here reads the environment.

use crate::remote::Connection;
use crate::secret::Secret;

/// Settings of a client of the chat completions API.
#[derive(Debug, Clone)]
pub struct ChatCompletionsConfig {
    /// Address of the server, with or without a trailing `/v1`. `None` means OpenAI.
    pub base_url: Option<String>,
    /// Sent as `Authorization: Bearer`. Required by OpenAI; other servers refuse the request if
    /// they require one.
    pub api_key: Option<Secret>,
    /// Whether the model accepts images. Once a server refuses an image, no more are sent.
    pub vision: bool,
    /// Proxy, timeouts and retries.
    pub connection: Connection,
}

impl Default for ChatCompletionsConfig {
    fn default() -> Self {
        Self {
            base_url: None,
            api_key: None,
            vision: false,
            connection: Connection::to_own_server(),
        }
    }
}

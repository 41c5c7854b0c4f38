//! Settings of the client. The caller collects them; nothing here reads the environment.

use crate::remote::Connection;
use crate::secret::Secret;

/// Settings of a [`super::ChatCompletions`] client.
#[derive(Debug, Clone)]
pub struct ChatCompletionsConfig {
    /// Address of the server, with or without `/v1` at its end. `None` is OpenAI itself.
    pub base_url: Option<String>,
    /// Sent as `Authorization: Bearer`. Needed for OpenAI itself; other servers say so when they want one.
    pub api_key: Option<Secret>,
    /// Whether the model reads images. A server that refuses them gets none from then on.
    pub vision: bool,
    /// How the server is reached.
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

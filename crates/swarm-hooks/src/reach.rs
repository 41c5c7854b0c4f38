//! How hooks reach servers and models. The caller provides the clients.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// The request of an `http` hook.
#[derive(Clone, PartialEq, Eq)]
pub struct HookRequest {
    /// URL with the scheme `http` or `https`.
    pub url: String,
    /// Additional headers.
    pub headers: BTreeMap<String, String>,
    /// The hook input as a JSON object.
    pub body: String,
    /// Maximum bytes read of the response body.
    pub max_bytes: usize,
    /// Timeout of the whole request.
    pub timeout: Duration,
}

impl fmt::Debug for HookRequest {
    /// Omits the headers, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookRequest")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A server's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// HTTP status code.
    pub status: u16,
    /// The body, truncated to the requested maximum.
    pub body: Vec<u8>,
    /// Whether the body was truncated.
    pub cut: bool,
}

/// The clients for hooks of the types `http` and `prompt`.
#[async_trait]
pub trait HookServices: Send + Sync + fmt::Debug {
    /// Posts a request without following redirects. The error completes the sentence "the hook …".
    async fn post(&self, request: HookRequest) -> Result<HookReply, String>;

    /// Returns the answer of the named model, or of a small one by default. The error completes the
    /// sentence "the hook …".
    async fn ask(
        &self,
        model: Option<&str>,
        system: &str,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<String, String>;
}

//! How hooks reach servers and models. Whoever makes the hooks brings the clients.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// A request of a hook of the type `http`.
#[derive(Clone, PartialEq, Eq)]
pub struct HookRequest {
    /// The address, `http` or `https`.
    pub url: String,
    /// Further headers.
    pub headers: BTreeMap<String, String>,
    /// A JSON object.
    pub body: String,
    /// Bytes of the answer that are read at most.
    pub max_bytes: usize,
    /// Time for all of it.
    pub timeout: Duration,
}

impl fmt::Debug for HookRequest {
    /// Without headers, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookRequest")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// Status of HTTP.
    pub status: u16,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether the body was longer.
    pub cut: bool,
}

/// The clients that hooks of the types `http` and `prompt` need.
#[async_trait]
pub trait HookReach: Send + Sync + fmt::Debug {
    /// Posts a request. Redirects are not followed. The error is half a sentence.
    async fn post(&self, request: HookRequest) -> Result<HookReply, String>;

    /// What a model answers, the one of this name or else a small one. The error is half a sentence.
    async fn ask(
        &self,
        model: Option<&str>,
        system: &str,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<String, String>;
}

//! How the web is reached. Whoever makes the tools brings the client.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

/// One request. Redirects are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRequest {
    /// The address, `http` or `https`.
    pub url: String,
    /// Whether it may lie on this machine or in a local network.
    pub private: bool,
    /// Bytes of the answer that are read at most.
    pub max_bytes: usize,
    /// Time for all of it.
    pub timeout: Duration,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAnswer {
    /// Status of HTTP.
    pub status: u16,
    /// Where it points instead, as an absolute address.
    pub location: Option<String>,
    /// `Content-Type`.
    pub content_type: String,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether the body was longer.
    pub cut: bool,
}

/// Sends requests. An address that must not be reached is refused after its name was resolved, and the connection goes to
/// the very address that was judged.
#[async_trait]
pub trait WebAccess: Send + Sync + fmt::Debug {
    /// The answer, or in a sentence why there is none.
    async fn get(&self, request: WebRequest) -> Result<WebAnswer, String>;
}

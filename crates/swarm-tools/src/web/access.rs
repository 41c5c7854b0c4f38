//! Interface to the HTTP client, which the creator of the tools provides.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

/// One request. Redirects are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRequest {
    /// URL, `http` or `https`.
    pub url: String,
    /// Whether the host may be this machine or in a local network.
    pub private: bool,
    /// Maximum number of bytes to read.
    pub max_bytes: usize,
    /// Timeout of the whole request.
    pub timeout: Duration,
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAnswer {
    /// HTTP status.
    pub status: u16,
    /// Redirect target as an absolute URL.
    pub location: Option<String>,
    /// `Content-Type`; empty if there is none.
    pub content_type: String,
    /// The body, possibly truncated.
    pub body: Vec<u8>,
    /// Whether the body was truncated.
    pub cut: bool,
}

/// An HTTP client. It checks the resolved addresses of the host, and connects only to an address
/// that it has checked.
#[async_trait]
pub trait WebAccess: Send + Sync + fmt::Debug {
    /// Sends a GET request. The error is a sentence.
    async fn get(&self, request: WebRequest) -> Result<WebAnswer, String>;
}

//! Responses of web servers.

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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

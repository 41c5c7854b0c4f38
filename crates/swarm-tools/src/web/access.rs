//! Interface to the HTTP client, which the creator of the tools provides, and URLs of the web
//! tools. Ambiguous URLs are rejected, so that permission rules and the client see the same host.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use swarm_protocol::WebAnswer;

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

/// An HTTP client. It checks the resolved addresses of the host, and connects only to an address
/// that it has checked.
#[async_trait]
pub trait WebAccess: Send + Sync + fmt::Debug {
    /// Sends a GET request. The error is a sentence.
    async fn get(&self, request: WebRequest) -> Result<WebAnswer, String>;
}

/// Returns the host of a URL in lower case. The error is a message for the model.
pub(super) fn host(url: &str) -> Result<String, String> {
    let shown: String = url.chars().take(200).collect();
    let bad = |why: &str| Err(format!("`{}` {why}.", shown.escape_debug()));
    let lower = url.to_ascii_lowercase();
    let Some(rest) = lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"))
    else {
        return bad("is not a valid URL: start it with https:// or http://");
    };
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if url.chars().any(odd) {
        return bad("contains spaces or backslashes: write them as %20 and %5C");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return bad("contains a user or password, which is not supported");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if authority.is_empty() || !authority.chars().all(plain) {
        return bad("has no host in ASCII letters (use `xn--…` for other letters)");
    }
    let host = if authority.starts_with('[') {
        authority.split_inclusive(']').next().unwrap_or_default()
    } else {
        authority.split(':').next().unwrap_or_default()
    };
    Ok(host.trim_end_matches('.').to_owned())
}

/// Whether two hosts are the same site, ignoring a leading `www.`.
pub(super) fn same_site(one: &str, other: &str) -> bool {
    let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    bare(one) == bare(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_with_an_ambiguous_host_are_rejected() {
        for (url, expected) in [
            ("https://Docs.RS/a?b#c", Some("docs.rs")),
            ("http://a.example.:8080", Some("a.example")),
            ("http://[::1]:80/x", Some("[::1]")),
            ("ftp://a", None),
            ("https:a.example", None),
            ("https:///a.example", None),
            ("https://good@evil.example", None),
            ("https://good\\@evil.example", None),
            ("https://go\tod.example", None),
            ("https://%65vil.example", None),
            ("https://bücher.example", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(host(url).ok().as_deref(), expected, "{url}");
        }
        assert!(same_site("www.a.example", "a.example") && !same_site("b.a.example", "a.example"));
    }
}

//! Streamable HTTP: one client with its TLS configuration, headers and proxy.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, NoProxy, Proxy, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use swarm_protocol::{shortened, with_causes};

use super::client::{HttpClient, HttpError};
use crate::{McpError, McpHost, Result};

/// Maximum attempts to resume a broken stream, 2 s and 4 s apart, before pending requests fail.
const STREAM_RETRIES: usize = 3;

/// Maximum characters of a response quoted in an error.
const MAX_QUOTED_CHARS: usize = 300;

/// Hosts reached without a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// Creates a transport to a URL without connecting.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    host: &McpHost,
) -> Result<StreamableHttpClientTransport<HttpClient>> {
    let address = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| {
            McpError::Address("invalid url: use the form https://HOST/PATH".to_owned())
        })?;
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(STREAM_RETRIES);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(header_map(headers)?)
        .reinit_on_expired_session(true);
    config.retry_config = Arc::new(retries);
    let client = HttpClient(client(&address, host)?);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn header_map(headers: &BTreeMap<String, String>) -> Result<HashMap<HeaderName, HeaderValue>> {
    headers
        .iter()
        .map(|(name, value)| {
            let invalid = || McpError::Address(format!("invalid header `{}`", name.escape_debug()));
            let name: HeaderName = name.parse().map_err(|_| invalid())?;
            let mut value: HeaderValue = value.parse().map_err(|_| invalid())?;
            value.set_sensitive(true);
            Ok((name, value))
        })
        .collect()
}

fn client(address: &Url, host: &McpHost) -> Result<Client> {
    let proxy = proxy(address, host)?;
    let builder = Client::builder()
        .user_agent(concat!("swarm/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(host.limits.start)
        .redirect(same_origin())
        .tls_backend_preconfigured(tls(address.scheme() == "https" || proxy.is_some())?);
    let builder = match proxy {
        Some(proxy) => builder.proxy(proxy),
        None => builder.no_proxy(),
    };
    builder
        .build()
        .map_err(|error| McpError::Address(describe(&error)))
}

/// Follows a few redirects on the same origin only, because the headers may hold credentials.
fn same_origin() -> Policy {
    const MAX_REDIRECTS: usize = 5;
    Policy::custom(|attempt| {
        let first = attempt.previous().first();
        let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
        if same && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Returns the proxy that the environment sets for a URL.
fn proxy(address: &Url, host: &McpHost) -> Result<Option<Proxy>> {
    let is_local = address.host_str().is_some_and(|name| {
        let ip = name.trim_matches(['[', ']']).parse::<IpAddr>();
        name == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    });
    let variable = |name: &str| {
        let value = host
            .env
            .get(name)
            .or_else(|| host.env.get(&name.to_lowercase()));
        value.filter(|value| !value.trim().is_empty())
    };
    let named = match address.scheme() {
        "https" => variable("HTTPS_PROXY"),
        _ => variable("HTTP_PROXY"),
    };
    let Some(proxy) = named
        .or_else(|| variable("ALL_PROXY"))
        .filter(|_| !is_local)
    else {
        return Ok(None);
    };
    let proxy = Proxy::all(proxy.as_str())
        .map_err(|_| McpError::Address("invalid proxy URL in the environment".to_owned()))?;
    let exceptions = match variable("NO_PROXY") {
        Some(hosts) => format!("{LOOPBACK},{hosts}"),
        None => LOOPBACK.to_owned(),
    };
    Ok(Some(proxy.no_proxy(NoProxy::from_string(&exceptions))))
}

/// Creates a TLS configuration with ring, which the model clients use too. Without TLS the system's
/// certificates are not loaded: a local server must work on a machine without any.
fn tls(needed: bool) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let tls_error = |error: &dyn Error| McpError::Address(format!("cannot configure TLS: {error}"));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_error(&error))?;
    if !needed {
        let none = RootCertStore::empty();
        return Ok(builder.with_root_certificates(none).with_no_client_auth());
    }
    let verifier = Verifier::new(provider).map_err(|error| tls_error(&error))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Describes an error with its distinct causes and without the URL, which may contain a password.
pub(super) fn describe(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<HttpError>() {
        Some(StreamableHttpError::Client(error)) => {
            return match error.source() {
                // The outer error says only that sending failed.
                Some(cause) => describe(cause),
                None => error.to_string(),
            };
        }
        Some(StreamableHttpError::UnexpectedServerResponse(text)) => return without_html(text),
        _ => {}
    }
    with_causes(error)
}

/// Returns a server's unexpected response, truncated and without an HTML page.
fn without_html(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let page = ["<!doctype", "<html"]
        .iter()
        .filter_map(|tag| lower.find(tag));
    let end = page.min().unwrap_or(text.len());
    let quoted = text[..end].trim_end_matches([' ', ':', '\n', '\r']);
    shortened(quoted, MAX_QUOTED_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_html_page_is_omitted_from_an_error() {
        let page = "HTTP 404 Not Found: <!DOCTYPE html>\n<html><pre>Cannot POST /</pre></html>";
        let error: HttpError = StreamableHttpError::UnexpectedServerResponse(page.into());
        assert_eq!(describe(&error), "HTTP 404 Not Found");
        let error: HttpError =
            StreamableHttpError::UnexpectedServerResponse("é".repeat(400).into());
        assert_eq!(describe(&error).chars().count(), MAX_QUOTED_CHARS + 1);
    }
}

//! Streamable HTTP: one client with its TLS set-up, headers and proxy.

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

use super::client::{Failed, HttpClient};
use crate::{McpError, McpHost};

/// How often a broken stream is taken up again, 2 s and 4 s apart, before what waits for it fails.
const STREAM_RETRIES: usize = 3;

/// Characters of an answer that is told as an error.
const MOST_TOLD: usize = 300;

/// Hosts that a proxy cannot reach for us.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// A transport to an address. Connects to nothing yet.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    host: &McpHost,
) -> Result<StreamableHttpClientTransport<HttpClient>, McpError> {
    let address = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| {
            McpError::Address("its url is not an address; give it as https://HOST/PATH".to_owned())
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

fn header_map(
    headers: &BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, McpError> {
    headers
        .iter()
        .map(|(name, value)| {
            let invalid =
                || McpError::Address(format!("its header `{}` is not valid", name.escape_debug()));
            let name: HeaderName = name.parse().map_err(|_| invalid())?;
            let mut value: HeaderValue = value.parse().map_err(|_| invalid())?;
            value.set_sensitive(true);
            Ok((name, value))
        })
        .collect()
}

fn client(address: &Url, host: &McpHost) -> Result<Client, McpError> {
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

/// A few steps on the same server: its headers are for no other.
fn same_origin() -> Policy {
    const STEPS: usize = 5;
    Policy::custom(|attempt| {
        let first = attempt.previous().first();
        let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
        if same && attempt.previous().len() <= STEPS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// The proxy that the environment names for such an address.
fn proxy(address: &Url, host: &McpHost) -> Result<Option<Proxy>, McpError> {
    let is_here = address.host_str().is_some_and(|name| {
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
    let Some(proxy) = named.or_else(|| variable("ALL_PROXY")).filter(|_| !is_here) else {
        return Ok(None);
    };
    let proxy = Proxy::all(proxy.as_str())
        .map_err(|_| McpError::Address("the proxy for it is not an address".to_owned()))?;
    let exceptions = match variable("NO_PROXY") {
        Some(hosts) => format!("{LOOPBACK},{hosts}"),
        None => LOOPBACK.to_owned(),
    };
    Ok(Some(proxy.no_proxy(NoProxy::from_string(&exceptions))))
}

/// TLS on ring, the provider that the model clients use too. Without need for TLS the system's certificates are not
/// loaded: a local server must work on a machine that has none.
fn tls(needed: bool) -> Result<ClientConfig, McpError> {
    let provider = Arc::new(ring::default_provider());
    let unusable = |error: &dyn Error| McpError::Address(format!("TLS is not usable ({error})"));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    if !needed {
        let none = RootCertStore::empty();
        return Ok(builder.with_root_certificates(none).with_no_client_auth());
    }
    let verifier = Verifier::new(provider).map_err(|error| unusable(&error))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// An error with its causes, each once, and without the address, which may hold a password.
pub(super) fn describe(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<Failed>() {
        Some(StreamableHttpError::Client(error)) => {
            return match error.source() {
                // The layer above says only that sending failed.
                Some(cause) => describe(cause),
                None => error.to_string(),
            };
        }
        Some(StreamableHttpError::UnexpectedServerResponse(text)) => return without_page(text),
        _ => {}
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// What a server answered in place of a message: without a page that is made for browsers, and not all of it.
fn without_page(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let page = ["<!doctype", "<html"]
        .iter()
        .filter_map(|tag| lower.find(tag));
    let end = page.min().unwrap_or(text.len());
    let told = text[..end].trim_end_matches([' ', ':', '\n', '\r']);
    let mut short: String = told.chars().take(MOST_TOLD).collect();
    if short.len() < told.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_browsers_is_not_told() {
        let page = "HTTP 404 Not Found: <!DOCTYPE html>\n<html><pre>Cannot POST /</pre></html>";
        let error: Failed = StreamableHttpError::UnexpectedServerResponse(page.into());
        assert_eq!(describe(&error), "HTTP 404 Not Found");
        let error: Failed = StreamableHttpError::UnexpectedServerResponse("é".repeat(400).into());
        assert_eq!(describe(&error).chars().count(), MOST_TOLD + 1);
    }
}

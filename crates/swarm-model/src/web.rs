//! HTTP client that connects only to the addresses that it has checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use swarm_protocol::{WebAnswer, is_public_address};

use crate::remote::{USER_AGENT, describe, tls};

/// Client for fetching pages and for posting to configured servers. It sends no cookies or
/// credentials, uses no proxy, and does not follow redirects.
#[derive(Debug, Clone, Copy, Default)]
pub struct WebClient;

impl WebClient {
    /// Fetches a URL. The host is resolved first; unless `private`, all its addresses must be
    /// public, and the connection uses one of them. `timeout` covers the whole request. The error
    /// is a sentence.
    pub async fn get(
        &self,
        url: &str,
        private: bool,
        max_bytes: usize,
        timeout: Duration,
    ) -> Result<WebAnswer, String> {
        let ask = |client: &Client, url| {
            client
                .get(url)
                .header(ACCEPT, "text/html, text/plain, */*;q=0.5")
        };
        within(timeout, url, exchange(url, private, max_bytes, ask)).await
    }

    /// Posts JSON to a URL, which may be local. `timeout` covers the whole request. The error is a
    /// sentence.
    pub async fn post(
        &self,
        url: &str,
        headers: &BTreeMap<String, String>,
        json: String,
        max_bytes: usize,
        timeout: Duration,
    ) -> Result<WebAnswer, String> {
        let ask = |client: &Client, url| {
            let request = client.post(url).header(CONTENT_TYPE, "application/json");
            let request = headers.iter().fold(request, |request, (name, value)| {
                request.header(name, value)
            });
            request.body(json)
        };
        within(timeout, url, exchange(url, true, max_bytes, ask)).await
    }
}

async fn within(
    timeout: Duration,
    url: &str,
    exchange: impl Future<Output = Result<WebAnswer, String>>,
) -> Result<WebAnswer, String> {
    match tokio::time::timeout(timeout, exchange).await {
        Ok(fetched) => fetched,
        Err(_) => Err(format!(
            "{url} did not respond within {} seconds.",
            timeout.as_secs()
        )),
    }
}

async fn exchange(
    url: &str,
    private: bool,
    max_bytes: usize,
    ask: impl FnOnce(&Client, Url) -> RequestBuilder,
) -> Result<WebAnswer, String> {
    let parsed =
        Url::parse(url).map_err(|error| format!("`{url}` is not a valid URL: {error}."))?;
    let host = parsed.host_str().unwrap_or_default().to_owned();
    let addresses = resolved(&parsed, &host).await?;
    if !private
        && let Some(local) = addresses
            .iter()
            .find(|address| !is_public_address(address.ip()))
    {
        return Err(format!(
            "{url} was not fetched: {host} resolves to {}, on this machine or in a local network.",
            local.ip()
        ));
    }
    let client = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .no_proxy()
        .resolve_to_addrs(&host, &addresses)
        .tls_backend_preconfigured(
            tls(parsed.scheme() == "https").map_err(|error| error.to_string())?,
        )
        .build()
        .map_err(|error| format!("{url} was not fetched: {}.", describe(error)))?;
    let answer = ask(&client, parsed.clone())
        .send()
        .await
        .map_err(|error| format!("{url} was not fetched: {}.", describe(error)))?;
    let header = |name| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let location = header(LOCATION).and_then(|to| parsed.join(&to).ok());
    let (content_type, status) = (
        header(CONTENT_TYPE).unwrap_or_default(),
        answer.status().as_u16(),
    );
    let (mut body, mut cut) = (Vec::new(), false);
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece
            .map_err(|error| format!("the connection to {url} was lost: {}.", describe(error)))?;
        let room = max_bytes - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            cut = true;
            break;
        }
    }
    Ok(WebAnswer {
        status,
        location: location.map(String::from),
        content_type,
        body,
        cut,
    })
}

async fn resolved(url: &Url, host: &str) -> Result<Vec<SocketAddr>, String> {
    let port = url.port_or_known_default().unwrap_or(80);
    // An IPv6 address is in brackets in a URL.
    let name = host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((name, port))
        .await
        .map_err(|error| format!("cannot resolve {host}: {error}."))?;
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        return Err(format!("{host} has no address."));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Starts a server that sends one fixed response on each connection; returns its port.
    async fn server(answer: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let read = stream.read(&mut request).await.unwrap_or_default();
                assert!(read > 0);
                stream.write_all(answer.as_bytes()).await.ok();
            }
        });
        port
    }

    #[tokio::test]
    async fn local_addresses_are_refused_unless_allowed() {
        let port = server("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").await;
        let limit = Duration::from_mins(1);
        for host in [
            "127.0.0.1",
            "localhost",
            "[::ffff:127.0.0.1]",
            "2130706433",
            "0x7f.1",
        ] {
            let url = format!("http://{host}:{port}/");
            let refused = WebClient.get(&url, false, 100, limit).await.unwrap_err();
            assert!(refused.contains("local network"), "{refused}");
        }
        let url = format!("http://127.0.0.1:{port}/");
        let fetched = WebClient.get(&url, true, 100, limit).await.unwrap();
        assert_eq!(
            (fetched.status, fetched.body.as_slice(), fetched.cut),
            (200, &b"hello"[..], false)
        );
        let fetched = WebClient.get(&url, true, 3, limit).await.unwrap();
        assert_eq!((fetched.body.as_slice(), fetched.cut), (&b"hel"[..], true));
    }

    #[tokio::test]
    async fn a_redirect_is_reported_and_not_followed() {
        let port = server("HTTP/1.1 302 Found\r\nlocation: /there?x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        let url = format!("http://127.0.0.1:{port}/a/b");
        let fetched = WebClient
            .get(&url, true, 100, Duration::from_mins(1))
            .await
            .unwrap();
        assert_eq!(fetched.status, 302);
        assert_eq!(
            fetched.location.unwrap(),
            format!("http://127.0.0.1:{port}/there?x")
        );
    }
}

//! Requests to the proxy: SOCKS5 (RFC 1928) and HTTP (RFC 9110).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Maximum length of the head of an HTTP request in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// Maximum length of a host name in bytes (RFC 1035), with a final dot.
const MAX_HOST: usize = 254;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) protocol: ProxyProtocol,
}

/// How the client is answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyProtocol {
    Socks,
    /// HTTP `CONNECT`.
    Tunnel,
    /// Another HTTP request, with the head to send to the server.
    Forward(Vec<u8>),
}

/// Reads a request. `None` if it is not valid; the client has been answered if possible.
pub(super) async fn read_request(client: &mut TcpStream) -> io::Result<Option<ProxyRequest>> {
    match client.read_u8().await? {
        5 => read_socks(client).await,
        first => {
            let head = read_head(client, first).await?;
            let request = parse_http(&head).filter(|request| is_host(&request.host));
            if request.is_none() {
                let answer =
                    "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                client.write_all(answer.as_bytes()).await?;
            }
            Ok(request)
        }
    }
}

/// Reads `METHODS` and answers "no authentication", then reads `CONNECT`.
async fn read_socks(client: &mut TcpStream) -> io::Result<Option<ProxyRequest>> {
    let mut methods = vec![0; client.read_u8().await?.into()];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&0) {
        // No acceptable method.
        client.write_all(&[5, 0xff]).await?;
        return Ok(None);
    }
    client.write_all(&[5, 0]).await?;
    let mut header = [0; 4];
    client.read_exact(&mut header).await?;
    let host = match header[3] {
        1 => Ipv4Addr::from(client.read_u32().await?).to_string(),
        3 => {
            let mut name = vec![0; client.read_u8().await?.into()];
            client.read_exact(&mut name).await?;
            let name = String::from_utf8_lossy(&name).into_owned();
            if !is_host(&name) {
                // General failure.
                client.write_all(&socks_answer(1)).await?;
                return Ok(None);
            }
            name
        }
        4 => Ipv6Addr::from(client.read_u128().await?).to_string(),
        _ => {
            // Address type not supported.
            client.write_all(&socks_answer(8)).await?;
            return Ok(None);
        }
    };
    let port = client.read_u16().await?;
    if header[..2] != [5, 1] {
        // Command not supported.
        client.write_all(&socks_answer(7)).await?;
        return Ok(None);
    }
    let protocol = ProxyProtocol::Socks;
    Ok(Some(ProxyRequest {
        host,
        port,
        protocol,
    }))
}

/// A SOCKS5 reply without an address: 0 for success.
pub(super) fn socks_answer(code: u8) -> [u8; 10] {
    [5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// Reads to the empty line, byte by byte: what follows belongs to the body.
async fn read_head(client: &mut (impl AsyncRead + Unpin), first: u8) -> io::Result<Vec<u8>> {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(client.read_u8().await?);
    }
    Ok(head)
}

/// Whether a text is a host name in ASCII or an IP address. Any other one would be shown to a person
/// as a host, although programs do not agree which one it is.
fn is_host(text: &str) -> bool {
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_name = (1..=MAX_HOST).contains(&text.len()) && text.bytes().all(is_in_name);
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    is_name || bare.unwrap_or(text).parse::<Ipv6Addr>().is_ok()
}

fn parse_http(head: &[u8]) -> Option<ProxyRequest> {
    let head = std::str::from_utf8(head).ok()?;
    let (line, fields) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':')?;
        return Some(ProxyRequest {
            host: host.to_owned(),
            port: port.parse().ok()?,
            protocol: ProxyProtocol::Tunnel,
        });
    }
    let rest = target.strip_prefix("http://")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    // One request for each connection: the next one could name another host.
    let kept = fields.split("\r\n").filter(|field| {
        let name = field.split(':').next().unwrap_or_default();
        ![
            "connection",
            "proxy-connection",
            "keep-alive",
            "proxy-authorization",
        ]
        .contains(&name.to_ascii_lowercase().as_str())
    });
    let kept: Vec<&str> = kept.take_while(|field| !field.is_empty()).collect();
    let fields = kept.join("\r\n");
    let sent = format!("{method} {path} {version}\r\n{fields}\r\nConnection: close\r\n\r\n");
    Some(ProxyRequest {
        host: host.to_owned(),
        port,
        protocol: ProxyProtocol::Forward(sent.into_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_are_hosts() {
        for host in [
            "a.example",
            "a_b.example.",
            "127.0.0.1",
            "0x7f.1",
            "[::1]",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_host(host), "{host}");
        }
        let long = "a".repeat(255);
        for host in [
            "",
            "[127.0.0.1:8901@127.0.0.1]",
            "127.0.0.1@a.example",
            "a.example#b",
            "a\\b",
            "a\0b",
            "a b",
            "a:1",
            "[a.example]",
            "[::1",
            "\u{430}.example",
            &long,
        ] {
            assert!(!is_host(host), "{host:?}");
        }
    }

    #[test]
    fn http_requests_name_their_host_and_are_rewritten() {
        let parsed = parse_http(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((parsed.host.as_str(), parsed.port), ("[::1]", 443));
        let head = b"GET http://a.example:8080?q HTTP/1.1\r\nHost: a.example\r\nProxy-Connection: keep-alive\r\n\r\n";
        let parsed = parse_http(head).unwrap();
        assert_eq!((parsed.host.as_str(), parsed.port), ("a.example", 8080));
        let sent = "GET /?q HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
        assert_eq!(parsed.protocol, ProxyProtocol::Forward(sent.into()));
        for head in [
            "GET /x HTTP/1.1\r\n\r\n",
            "x\r\n\r\n",
            "CONNECT a HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(parse_http(head.as_bytes()), None, "{head}");
        }
    }
}

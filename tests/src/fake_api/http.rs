//! The parts of HTTP/1.1 that a model client uses: POST with a length, chunked responses.

use std::io::{self, BufRead, Read as _, Write};

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Headers in order, with lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Reads the next request of a connection; `None` if the client has closed it.
pub(crate) fn read_request(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some(first) = read_line(from)? else {
        return Ok(None);
    };
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::Error::other(format!("not a request: {first:?}")));
    };
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let line = read_line(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        request
            .headers
            .push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = header(&request.headers, "content-length").and_then(|value| value.parse().ok());
    from.take(length.unwrap_or(0))
        .read_to_end(&mut request.body)?;
    Ok(Some(request))
}

/// Returns the value of a header by its lower-case name.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str())
}

fn read_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Sends a response with a complete body.
pub(crate) fn write_whole(
    to: &mut impl Write,
    status: u16,
    extra: &[(&str, &str)],
    body: &str,
) -> io::Result<()> {
    let length = body.len().to_string();
    write_head(
        to,
        status,
        &[
            ("content-type", "application/json"),
            ("content-length", &length),
        ],
        extra,
    )?;
    to.write_all(body.as_bytes())?;
    to.flush()
}

/// Sends the head of a streamed response; its chunks follow.
pub(crate) fn begin_stream(to: &mut impl Write) -> io::Result<()> {
    let headers = [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("transfer-encoding", "chunked"),
    ];
    write_head(to, 200, &headers, &[])?;
    to.flush()
}

/// Sends a chunk.
pub(crate) fn write_chunk(to: &mut impl Write, data: &str) -> io::Result<()> {
    write!(to, "{:x}\r\n{data}\r\n", data.len())?;
    to.flush()
}

/// Sends the last chunk of a response.
pub(crate) fn end_stream(to: &mut impl Write) -> io::Result<()> {
    to.write_all(b"0\r\n\r\n")?;
    to.flush()
}

fn write_head(
    to: &mut impl Write,
    status: u16,
    headers: &[(&str, &str)],
    extra: &[(&str, &str)],
) -> io::Result<()> {
    write!(to, "HTTP/1.1 {status} Test\r\nrequest-id: req_test\r\n")?;
    for (name, value) in headers.iter().chain(extra) {
        write!(to, "{name}: {value}\r\n")?;
    }
    to.write_all(b"\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_requests_on_one_connection_are_separated() {
        let wire = b"POST /v1/messages HTTP/1.1\r\nX-Api-Key: k\r\nContent-Length: 2\r\n\r\n{}GET / HTTP/1.1\r\n\r\n";
        let mut wire = &wire[..];
        let first = read_request(&mut wire).unwrap().unwrap();
        assert_eq!(
            (first.method.as_str(), first.path.as_str()),
            ("POST", "/v1/messages")
        );
        assert_eq!(header(&first.headers, "x-api-key"), Some("k"));
        assert_eq!(first.body, b"{}");
        assert_eq!(read_request(&mut wire).unwrap().unwrap().method, "GET");
        assert_eq!(read_request(&mut wire).unwrap(), None);
    }

    #[test]
    fn a_truncated_request_is_an_error() {
        let mut wire = &b"POST / HTTP/1.1\r\nContent-Le"[..];
        assert!(read_request(&mut wire).is_err());
    }
}

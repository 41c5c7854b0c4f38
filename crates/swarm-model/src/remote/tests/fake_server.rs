//! A server on 127.0.0.1 that sends prepared HTTP responses and records requests.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use swarm_protocol::Thinking;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::error::ModelError;
use crate::message::Message;
use crate::model::{ModelEvent, ModelResponse};
use crate::remote::{Cause, Failure};
use crate::request::ModelRequest;
use crate::stored::stored;

/// One prepared response.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A status, additional headers, and a body of known length.
    Whole(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// A complete event stream in these chunks.
    Events(Vec<Vec<u8>>),
    /// An event stream that is cut after these bytes: the connection closes in the middle of the
    /// body.
    Cut(Vec<u8>),
    /// An event stream that stays open after these bytes until the client closes the connection.
    Stall(Vec<u8>),
    /// No response: the connection closes.
    HangUp,
}

/// One received request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Number of the connection, from 0.
    pub(crate) connection: usize,
}

impl RecordedRequest {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The server. It stops when dropped.
#[derive(Debug)]
pub(crate) struct FakeServer {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    /// Notified when the bytes of a stalled response have been sent.
    pub(crate) stalled: Arc<Notify>,
    accepting: JoinHandle<()>,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl FakeServer {
    /// Starts a server that sends these responses in turn and repeats the last one.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stalled = Arc::new(Notify::new());
        let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
        let accepting = tokio::spawn({
            let (requests, stalled) = (Arc::clone(&requests), Arc::clone(&stalled));
            async move {
                let mut connection = 0;
                while let Ok((stream, _)) = listener.accept().await {
                    let (requests, stalled) = (Arc::clone(&requests), Arc::clone(&stalled));
                    tokio::spawn(serve(
                        stream,
                        connection,
                        Arc::clone(&replies),
                        requests,
                        stalled,
                    ));
                    connection += 1;
                }
            }
        });
        Self {
            address,
            requests,
            stalled,
            accepting,
        }
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    stalled: Arc<Notify>,
) {
    while let Some((head, body)) = read_request(&mut stream).await {
        requests.lock().push(RecordedRequest {
            head,
            body,
            connection,
        });
        let reply = {
            let mut replies = replies.lock();
            if replies.len() > 1 {
                replies.pop_front().unwrap()
            } else {
                replies[0].clone()
            }
        };
        // A client may disconnect at any point.
        if write_reply(&mut stream, reply, &stalled).await.is_none() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut body = bytes.split_off(end + 4);
    let length: usize = head
        .lines()
        .find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().unwrap())
        })
        .unwrap();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, body))
}

/// Writes a response. Returns `None` if the connection must close afterwards.
async fn write_reply(stream: &mut TcpStream, reply: Reply, stalled: &Notify) -> Option<()> {
    const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    match reply {
        Reply::Whole(status, headers, body) => {
            let length = body.len();
            let headers: Vec<String> = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{}\r\n",
                headers.concat()
            );
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(&body).await.ok()
        }
        Reply::Events(chunks) => {
            stream.write_all(EVENTS.as_bytes()).await.ok()?;
            let (last, others) = chunks.split_last()?;
            for bytes in others {
                stream.write_all(&chunk(bytes)).await.ok()?;
            }
            // Real servers send the end together with the last chunk.
            let end = [chunk(last).as_slice(), b"0\r\n\r\n"].concat();
            stream.write_all(&end).await.ok()
        }
        Reply::Cut(bytes) => {
            stream.write_all(EVENTS.as_bytes()).await.ok()?;
            stream.write_all(&chunk(&bytes)).await.ok()?;
            None
        }
        Reply::Stall(bytes) => {
            stream.write_all(EVENTS.as_bytes()).await.ok()?;
            stream.write_all(&chunk(&bytes)).await.ok()?;
            stalled.notify_one();
            // Ends when the client closes the connection.
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.ok()?;
            stalled.notify_one();
            None
        }
        Reply::HangUp => None,
    }
}

/// Encodes one chunk of a body. No bytes give no chunk, since an empty chunk means the end.
fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let size = format!("{:x}\r\n", bytes.len());
    [size.as_bytes(), bytes, b"\r\n"].concat()
}

/// What a stream of a client gives.
pub(crate) type Item = Result<ModelEvent, ModelError>;

/// A request with one short message.
pub(crate) fn short_request(model: &str) -> ModelRequest {
    ModelRequest {
        model: model.into(),
        system: Arc::default(),
        tools: Arc::default(),
        messages: stored(vec![Message::user_text("hello")]),
        max_tokens: 100,
        thinking: Thinking::Off,
        effort: None,
        agent: "explorer".into(),
    }
}

/// The response at the end of a stream.
#[track_caller]
pub(crate) fn completed(items: &[Item]) -> &ModelResponse {
    match items.last() {
        Some(Ok(ModelEvent::Completed(response))) => response,
        other => panic!("{other:?}"),
    }
}

/// The error at the end of a stream.
#[track_caller]
pub(crate) fn failed(items: &[Item]) -> &ModelError {
    match items.last() {
        Some(Err(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// What a failure is and whether the request is repeated, as a word for tables.
pub(crate) fn failure_word(failure: &Failure) -> &'static str {
    match failure {
        Failure::Final(ModelError::Auth { .. }) => "auth",
        Failure::Final(ModelError::Billing(_)) => "billing",
        Failure::Final(ModelError::UnknownModel { .. }) => "model",
        Failure::Final(ModelError::InvalidRequest(_)) => "invalid",
        Failure::Final(ModelError::ContextTooLong(_)) => "long",
        Failure::Final(_) => "other",
        Failure::Transient(transient) => match transient.cause {
            Cause::RateLimit => "again: limit",
            Cause::Overload => "again: overload",
            Cause::Server => "again: server",
            _ => "again: other",
        },
    }
}

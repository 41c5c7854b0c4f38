//! The JSON-RPC connection to a client.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_protocol::ErrorKind;
use tokio::sync::oneshot;

use crate::failure::Failure;

#[derive(Debug)]
pub(in crate::commands) struct RpcError {
    code: i64,
    message: String,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    pub(in crate::commands) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("{method} is not available"))
    }

    /// A request with parameters that cannot be used.
    pub(in crate::commands) fn invalid(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// A request that failed.
    pub(in crate::commands) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    pub(in crate::commands) fn not_json(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }
}

impl From<Failure> for RpcError {
    fn from(failure: Failure) -> Self {
        let message = match &failure.hint {
            Some(hint) => format!("{} ({hint})", failure.message),
            None => failure.message.clone(),
        };
        match failure.kind {
            // The protocol's code of a resource that was not found.
            ErrorKind::NotFound => Self::new(-32002, message),
            ErrorKind::Usage => Self::invalid(message),
            _ => Self::internal(message),
        }
    }
}

/// Requests to the client that have no response yet, by id.
type Waiting = HashMap<u64, oneshot::Sender<Value>>;

/// The connection. Messages are written by a thread, so a client that does not read delays no one.
#[derive(Debug)]
pub(in crate::commands) struct ClientLink {
    lines: Mutex<Option<Sender<String>>>,
    /// The id of the next request, and the requests that wait; `None` once the client is gone.
    waiting: Mutex<(u64, Option<Waiting>)>,
}

impl ClientLink {
    /// Starts the thread that writes to the client. It ends with [`Self::close`], or when the client
    /// no longer reads.
    pub(in crate::commands) fn start(
        mut out: impl Write + Send + 'static,
    ) -> (Arc<Self>, JoinHandle<()>) {
        let (lines, written) = channel::<String>();
        let writer = std::thread::spawn(move || {
            for line in written {
                let sent = out
                    .write_all(line.as_bytes())
                    .and_then(|()| out.write_all(b"\n"))
                    .and_then(|()| out.flush());
                if let Err(error) = sent {
                    tracing::debug!(%error, "the client no longer reads");
                    return;
                }
            }
        });
        let link = Self {
            lines: Mutex::new(Some(lines)),
            waiting: Mutex::new((0, Some(Waiting::new()))),
        };
        (Arc::new(link), writer)
    }

    fn send(&self, message: &Value) {
        if let Some(lines) = &*self.lines.lock() {
            // The client may be gone.
            lines.send(message.to_string()).ok();
        }
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends the response to a request of the client.
    pub(in crate::commands) fn respond(&self, id: &Value, outcome: Result<Value, RpcError>) {
        self.send(&match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(RpcError { code, message }) => {
                let error = json!({"code": code, "message": message});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        });
    }

    /// Sends a request and returns its result; `None` if the client refuses it or is gone.
    pub(super) async fn request(&self, method: &str, params: &Value) -> Option<Value> {
        let (sender, result) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting.lock();
            let id = waiting.0;
            waiting.0 += 1;
            waiting.1.as_mut()?.insert(id, sender);
            id
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        result.await.ok()
    }

    /// Handles the client's response to a request.
    pub(in crate::commands) fn responded(&self, id: &Value, result: Option<Value>) {
        let mut waiting = self.waiting.lock();
        let id = id.as_u64();
        let asked = id.and_then(|id| waiting.1.as_mut()?.remove(&id));
        if let (Some(asked), Some(result)) = (asked, result) {
            // Nobody may wait any more.
            asked.send(result).ok();
        }
    }

    /// The client sends nothing more: its open requests get no response.
    pub(in crate::commands) fn hang_up(&self) {
        self.waiting.lock().1 = None;
    }

    /// Ends the writer once everything is written.
    pub(in crate::commands) fn close(&self) {
        *self.lines.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_gets_its_own_response_and_none_after_the_client_has_gone() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        let (link, writer) = ClientLink::start(std::io::sink());
        let answered = runtime.block_on(async {
            let params = json!({});
            let (first, second) = (link.request("a", &params), link.request("b", &params));
            let answers = async {
                link.responded(&json!(1), Some(json!("second")));
                link.responded(&json!(7), Some(json!("unknown")));
                link.responded(&json!(0), Some(json!("first")));
            };
            let (first, second, ()) = tokio::join!(first, second, answers);
            let refused = link.request("c", &params);
            let (refused, ()) = tokio::join!(refused, async {
                link.responded(&json!(2), None);
            });
            let left = link.request("d", &params);
            let (left, ()) = tokio::join!(left, async { link.hang_up() });
            [
                first,
                second,
                refused,
                left,
                link.request("e", &params).await,
            ]
        });
        let expected = [
            Some(json!("first")),
            Some(json!("second")),
            None,
            None,
            None,
        ];
        assert_eq!(answered, expected);
        link.close();
        writer.join().unwrap();
    }
}

//! A connection to a server.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, PaginatedRequestParams, ProtocolVersion,
    ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{Peer, RoleClient};
use rustix::io::ioctl_fionread;
use serde_json::{Map, Value};
use swarm_permissions::McpToolSpec;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::calls::{ActiveCalls, CallTerms};
use super::content::content;
use super::handler::Handler;
use super::http;
use super::probe::Probing;
use super::request::Round;
use crate::{McpError, McpHost};
use swarm_tools::Picture;

/// The most tools that one server may list.
const MOST_TOOLS: usize = 2000;

/// What a server answered to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Everything in it, as text.
    pub(crate) text: String,
    /// The pictures in it.
    pub(crate) pictures: Vec<Picture>,
    /// Whether the server calls it a failure.
    pub(crate) is_error: bool,
}

/// A server that has shaken hands. Dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) calls: ActiveCalls,
    list_changed: Arc<AtomicBool>,
    service: Mutex<RunningService<RoleClient, Handler>>,
}

impl Connection {
    /// Speaks to a program.
    pub(crate) async fn over_stdio(
        stdout: ChildStdout,
        stdin: ChildStdin,
        protocol: Protocol,
    ) -> Result<Self, NoHandshake> {
        // Tells afterwards whether the program has read what it was asked. Without a descriptor it is taken to have done so.
        let asked = stdin.as_fd().try_clone_to_owned().ok();
        let transport = AsyncRwTransport::new_client(stdout, stdin);
        let (transport, answered_late) = Probing::new(transport);
        let service = Handler::default().serve_with_lifecycle(transport, protocol.lifecycle());
        let service = service.await.map_err(|error| NoHandshake {
            why: handshake(&error),
            other_protocol: match last(&error) {
                _ if protocol != Protocol::Either => None,
                ClientInitializeError::ConnectionClosed(_) if was_read(asked.as_ref()) => {
                    Some(Protocol::Stateful)
                }
                _ if answered_late.load(Ordering::Acquire) => Some(Protocol::Stateless),
                _ => None,
            },
        })?;
        Ok(Self::of(service))
    }

    /// Speaks to an address.
    pub(crate) async fn over_http(
        url: &str,
        headers: &BTreeMap<String, String>,
        host: &McpHost,
    ) -> Result<Self, McpError> {
        let transport = http::transport(url, headers, host)?;
        let service =
            Handler::default().serve_with_lifecycle(transport, Protocol::Either.lifecycle());
        let service = match service.await {
            // Older servers may answer a request without a session in ways that no standard names.
            Err(error) if !error.is_authorization_required() => {
                tracing::debug!(%error, "the stateless protocol failed, trying the older one");
                let transport = http::transport(url, headers, host)?;
                Handler::default()
                    .serve_with_lifecycle(transport, Protocol::Stateful.lifecycle())
                    .await
            }
            service => service,
        };
        let service = service.map_err(|error| McpError::Connect {
            why: handshake(&error),
            stderr: String::new(),
        })?;
        Ok(Self::of(service))
    }

    fn of(service: RunningService<RoleClient, Handler>) -> Self {
        Self {
            peer: service.peer().clone(),
            calls: service.service().calls.clone(),
            list_changed: Arc::clone(&service.service().list_changed),
            service: Mutex::new(service),
        }
    }

    /// All tools, in the server's order.
    pub(crate) async fn tools(&self) -> Result<Vec<McpToolSpec>, String> {
        let offers = self.peer.peer_info();
        if offers.is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let mut tools = Vec::new();
        let mut page = PaginatedRequestParams::default();
        loop {
            let asked = self.peer.list_tools(Some(page)).await;
            let listed =
                asked.map_err(|error| format!("it does not list its tools: {}", failed(error)))?;
            tools.extend(listed.tools.into_iter().map(|tool| McpToolSpec {
                name: tool.name.to_string(),
                description: tool.description.as_deref().unwrap_or_default().to_owned(),
                input_schema: object_schema(&tool.input_schema),
            }));
            if tools.len() > MOST_TOOLS {
                return Err(format!("it lists more than {MOST_TOOLS} tools"));
            }
            match listed.next_cursor {
                None => return Ok(tools),
                Some(cursor) => {
                    page = PaginatedRequestParams::default();
                    page.cursor = Some(cursor);
                }
            }
        }
    }

    /// Whether the server has said since the last time that its tools are others now.
    pub(crate) fn took_list_changed(&self) -> bool {
        self.list_changed.swap(false, Ordering::AcqRel)
    }

    /// Calls a tool. A call that is given up is cancelled at the server too.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        terms: &CallTerms,
    ) -> Result<Answer, McpError> {
        let make = |round: Round| {
            let params = CallToolRequestParams::new(tool.to_owned());
            let mut params = params.with_arguments(arguments.clone());
            params.input_responses = round.responses;
            params.request_state = round.state;
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        read(self.request(make, terms).await?)
    }

    /// Whether the other side is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Ends the connection in order.
    pub(crate) async fn close(&self, within: Duration) {
        let mut service = self.service.lock().await;
        if let Err(error) = service.close_with_timeout(within).await {
            tracing::warn!(%error, "the end of an MCP connection");
        }
    }
}

/// Which protocol to speak with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The stateless one (2026-07-28), by asking `server/discover`, or the one before where the server does not know that.
    Either,
    /// The stateless one alone.
    Stateless,
    /// The one before, with `initialize`.
    Stateful,
}

impl Protocol {
    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::Either => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Self::Stateless => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
            Self::Stateful => ClientLifecycleMode::Initialize,
        }
    }
}

/// Why a program could not be spoken to.
#[derive(Debug)]
pub(crate) struct NoHandshake {
    pub(crate) why: String,
    /// The protocol with which another start may succeed: the older one where the program ended at the first request, the
    /// stateless one where it answered the probe too late and knows no other.
    pub(crate) other_protocol: Option<Protocol>,
}

/// Whether nothing that was written to a program's standard input is still in the pipe. One that ended before it read the first
/// request did not end because of it.
fn was_read(stdin: Option<&OwnedFd>) -> bool {
    stdin.is_none_or(|stdin| ioctl_fionread(stdin).is_ok_and(|left| left == 0))
}

/// A schema as model servers want it: an object, whatever the server has left out.
fn object_schema(schema: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| "object".into());
    Value::Object(schema)
}

fn read(result: ServerResult) -> Result<Answer, McpError> {
    match result {
        ServerResult::CallToolResult(result) => {
            let (text, pictures) = content(&result);
            Ok(Answer {
                text,
                pictures,
                is_error: result.is_error.unwrap_or_default(),
            })
        }
        ServerResult::CreateTaskResult(_) => Err(McpError::Refused(
            "it would answer later, as a task of its own, which swarm does not follow".to_owned(),
        )),
        _ => Err(McpError::Refused(
            "its answer is not the result of a call".to_owned(),
        )),
    }
}

pub(super) fn failed(error: ServiceError) -> McpError {
    match error {
        ServiceError::McpError(error) => {
            McpError::Refused(format!("{} (code {})", error.message, error.code.0))
        }
        ServiceError::TransportClosed => McpError::Broken,
        ServiceError::TransportSend(error) => {
            McpError::Refused(http::describe(error.error.as_ref()))
        }
        error => McpError::Refused(error.to_string()),
    }
}

/// What went wrong last, where both protocols were tried.
fn last(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => last(fallback),
        error => error,
    }
}

/// What went wrong at the beginning, without the layers that say nothing to a person.
fn handshake(error: &ClientInitializeError) -> String {
    match last(error) {
        ClientInitializeError::ConnectionClosed(_) => {
            "it ended before it answered the first request".to_owned()
        }
        error if error.is_authorization_required() => {
            "it wants authorization: give it in the server's `headers`".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => http::describe(error.error.as_ref()),
        error => error.to_string(),
    }
}

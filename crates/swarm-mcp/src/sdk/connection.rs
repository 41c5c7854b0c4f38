//! A connection to a server.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, Cursor, InputResponses,
    PaginatedRequestParams, ProtocolVersion, ServerResult,
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

use super::calls::{ActiveCalls, CallOptions};
use super::content::content;
use super::handler::Handler;
use super::http;
use super::probe::ProbingTransport;
use crate::{McpError, McpHost, Result};
use swarm_tools::Picture;

/// Maximum number of items in a server's list.
const MAX_LISTED: usize = 2000;

/// A server's answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) pictures: Vec<Picture>,
    /// Whether the server reports a failure.
    pub(crate) is_error: bool,
}

/// A connection with a completed handshake. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) calls: ActiveCalls,
    list_changed: Arc<AtomicBool>,
    service: Mutex<RunningService<RoleClient, Handler>>,
}

impl Connection {
    pub(crate) async fn over_stdio(
        stdout: ChildStdout,
        stdin: ChildStdin,
        protocol: Protocol,
    ) -> Result<Self, HandshakeError> {
        // Shows afterwards whether the program read the request. Without a descriptor we assume
        // that it did.
        let asked = stdin.as_fd().try_clone_to_owned().ok();
        let transport = AsyncRwTransport::new_client(stdout, stdin);
        let (transport, answered_after_timeout) = ProbingTransport::new(transport);
        let service = Handler::default().serve_with_lifecycle(transport, protocol.lifecycle());
        let service = service.await.map_err(|error| HandshakeError {
            error: McpError::connect(describe_handshake_error(&error)),
            other_protocol: match last_error(&error) {
                _ if protocol != Protocol::Either => None,
                ClientInitializeError::ConnectionClosed(_) if was_read(asked.as_ref()) => {
                    Some(Protocol::Stateful)
                }
                _ if answered_after_timeout.load(Ordering::Acquire) => Some(Protocol::Stateless),
                _ => None,
            },
        })?;
        Ok(Self::of(service))
    }

    pub(crate) async fn over_http(
        url: &str,
        headers: &BTreeMap<String, String>,
        host: &McpHost,
    ) -> Result<Self> {
        let transport = http::transport(url, headers, host)?;
        let service =
            Handler::default().serve_with_lifecycle(transport, Protocol::Either.lifecycle());
        let service = match service.await {
            // Older servers may answer a request without a session in nonstandard ways.
            Err(error) if !error.is_authorization_required() => {
                tracing::debug!(%error, "the stateless protocol failed, trying the older one");
                let transport = http::transport(url, headers, host)?;
                Handler::default()
                    .serve_with_lifecycle(transport, Protocol::Stateful.lifecycle())
                    .await
            }
            service => service,
        };
        let service =
            service.map_err(|error| McpError::connect(describe_handshake_error(&error)))?;
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

    /// Lists all tools in the server's order.
    pub(crate) async fn tools(&self) -> Result<Vec<McpToolSpec>> {
        let offers = self.peer.peer_info();
        if offers.is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let tools = all_pages("tools", |page| async move {
            let listed = self.peer.list_tools(page).await.map_err(|error| {
                McpError::Refused(format!("cannot list the tools: {}", call_error(error)))
            })?;
            Ok((listed.tools, listed.next_cursor))
        });
        let specs = tools.await?.into_iter().map(|tool| McpToolSpec {
            name: tool.name.to_string(),
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            input_schema: object_schema(&tool.input_schema),
        });
        Ok(specs.collect())
    }

    /// Returns whether the server reported a change of its tools since the last call.
    pub(crate) fn took_list_changed(&self) -> bool {
        self.list_changed.swap(false, Ordering::AcqRel)
    }

    /// Calls a tool. Dropping or cancelling the call also cancels it on the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Answer> {
        let build_request = |round: Round| {
            let params = CallToolRequestParams::new(tool.to_owned());
            let mut params = params.with_arguments(arguments.clone());
            params.input_responses = round.responses;
            params.request_state = round.state;
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        read(self.request(build_request, options).await?)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Closes the connection gracefully.
    pub(crate) async fn close(&self, within: Duration) {
        let mut service = self.service.lock().await;
        if let Err(error) = service.close_with_timeout(within).await {
            tracing::warn!(%error, "cannot close an MCP connection gracefully");
        }
    }
}

/// The protocol to use with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Probes the stateless protocol (2026-07-28) with `server/discover` and falls back to the
    /// previous one.
    Either,
    /// Only the stateless protocol.
    Stateless,
    /// The previous protocol, with `initialize`.
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

/// A failed handshake with a program.
#[derive(Debug)]
pub(crate) struct HandshakeError {
    pub(crate) error: McpError,
    /// The protocol to retry with: the older one if the program exited at the first request, the
    /// stateless one if it answered the probe too late and supports no other.
    pub(crate) other_protocol: Option<Protocol>,
}

impl From<McpError> for HandshakeError {
    fn from(error: McpError) -> Self {
        Self {
            error,
            other_protocol: None,
        }
    }
}

/// Returns whether the program has read everything written to its standard input. A program that
/// exited before reading the first request did not exit because of it.
fn was_read(stdin: Option<&OwnedFd>) -> bool {
    stdin.is_none_or(|stdin| ioctl_fionread(stdin).is_ok_and(|left| left == 0))
}

/// Collects the pages of a list, which `page` requests with the cursor of the next one.
pub(super) async fn all_pages<T, F>(
    what: &str,
    page: impl Fn(Option<PaginatedRequestParams>) -> F,
) -> Result<Vec<T>>
where
    F: Future<Output = Result<(Vec<T>, Option<Cursor>)>>,
{
    let mut all = Vec::new();
    let mut params = PaginatedRequestParams::default();
    loop {
        let (listed, cursor) = page(Some(params)).await?;
        all.extend(listed);
        if all.len() > MAX_LISTED {
            return Err(McpError::Refused(format!(
                "the server lists more than {MAX_LISTED} {what}"
            )));
        }
        if cursor.is_none() {
            return Ok(all);
        }
        params = PaginatedRequestParams::default();
        params.cursor = cursor;
    }
}

/// Completes a schema to the form that model providers require: an object.
fn object_schema(schema: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| "object".into());
    Value::Object(schema)
}

fn read(result: ServerResult) -> Result<Answer> {
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
            "the server returned a task instead of a result; asynchronous tasks are not supported"
                .to_owned(),
        )),
        _ => Err(McpError::Refused(
            "the response is not a tool result".to_owned(),
        )),
    }
}

pub(super) fn call_error(error: ServiceError) -> McpError {
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

/// Returns the last error when both protocols were tried.
fn last_error(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => last_error(fallback),
        error => error,
    }
}

/// Describes a handshake error without its outer layers.
fn describe_handshake_error(error: &ClientInitializeError) -> String {
    match last_error(error) {
        ClientInitializeError::ConnectionClosed(_) => {
            "the server exited before answering the first request".to_owned()
        }
        error if error.is_authorization_required() => {
            "authorization required: set it in the server's `headers`".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => http::describe(error.error.as_ref()),
        error => error.to_string(),
    }
}

/// The fields added to a repeated request after a person answered (protocol 2026-07-28).
#[derive(Debug, Default, Clone)]
pub(super) struct Round {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

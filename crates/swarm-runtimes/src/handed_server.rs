//! The member's MCP servers for its agent program. The member itself is the client of the server, so
//! that each call is decided by the member's permissions, whether or not the program asks about it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use serde_json::{Map, Value};
use swarm_agent::{AgentParts, ForeignCall, Turn};
use swarm_mcp::{McpError, ServedTools, ToolService, serve_tools};
use swarm_permissions::McpToolSpec;
use swarm_protocol::{AgentEvent, ToolKind};
use swarm_tools::{Tool, ToolOutput};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::approvals::Approvals;

/// Name of the server with the team's tools.
pub(crate) const TEAM_SERVER: &str = "swarm";

/// Answer to a call that the member has not run.
const NOT_RUN: &str = "The call was not run: the turn ended before it.";

/// Splits the name of an MCP tool into those of its server and of the tool.
pub(crate) fn split_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// Returns the names of the tools that the program gets from the member's servers.
pub(crate) fn handed_names(tools: &[Arc<dyn Tool>]) -> Vec<&str> {
    let is_handed = |name: &&str| split_name(name).is_some_and(|(of, _)| of != TEAM_SERVER);
    let names = tools.iter().map(|tool| tool.name());
    names.filter(is_handed).collect()
}

/// Returns the names of the servers whose tools the member has, each once.
pub(crate) fn server_names(tools: &[Arc<dyn Tool>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (server, _) in handed_names(tools).into_iter().filter_map(split_name) {
        if !names.iter().any(|name| name == server) {
            names.push(server.to_owned());
        }
    }
    names
}

/// Reports a server that the program does not get because of its name.
pub(crate) fn report_hidden(program: &str, agent: &AgentParts) {
    let mut names = agent
        .tools
        .iter()
        .filter_map(|tool| split_name(tool.name()));
    if names.any(|(server, _)| server == TEAM_SERVER) {
        let line = format!(
            "{program} does not get the MCP server `{TEAM_SERVER}`, because the server of the team's tools has this name: rename it"
        );
        agent.events.emit(AgentEvent::Notice { line });
    }
}

/// A server of the member, with those of its tools that the member has.
#[derive(Debug)]
pub(crate) struct HandedServer {
    pub(crate) name: String,
    tools: Vec<McpToolSpec>,
    calls: UnboundedSender<RelayedCall>,
}

impl HandedServer {
    /// Returns the servers of a member with these tools. Calls are sent to `calls`.
    pub(crate) fn all(tools: &[Arc<dyn Tool>], calls: &UnboundedSender<RelayedCall>) -> Vec<Self> {
        let of = |name: String| Self {
            tools: tools
                .iter()
                .filter_map(|tool| spec(&name, &**tool))
                .collect(),
            calls: calls.clone(),
            name,
        };
        server_names(tools).into_iter().map(of).collect()
    }

    /// Serves a client until it closes the connection.
    pub(crate) async fn serve(&self, client: TcpStream) -> Result<(), McpError> {
        let gone = CancellationToken::new();
        let served = ServedTools {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: String::new(),
            tools: self.tools.clone(),
            service: Arc::new(CallRelay {
                server: self.name.clone(),
                known: self.tools.iter().map(|tool| tool.name.clone()).collect(),
                calls: self.calls.clone(),
                gone: gone.clone(),
            }),
        };
        let (input, output) = client.into_split();
        serve_tools(served, WatchedInput { input, gone }, output).await
    }
}

/// Returns a tool under the name that its server gives it; `None` for a tool of another server.
fn spec(server: &str, tool: &dyn Tool) -> Option<McpToolSpec> {
    let (_, name) = split_name(tool.name()).filter(|(of, _)| *of == server)?;
    Some(McpToolSpec {
        name: name.to_owned(),
        description: tool.description(),
        input_schema: tool.input_schema(),
    })
}

/// Passes the calls of one client on to the member's turn.
#[derive(Debug)]
struct CallRelay {
    server: String,
    known: Vec<String>,
    calls: UnboundedSender<RelayedCall>,
    gone: CancellationToken,
}

/// The input of a client, whose end cancels `gone`: the server would wait some seconds for its calls.
#[derive(Debug)]
struct WatchedInput {
    input: OwnedReadHalf,
    gone: CancellationToken,
}

impl AsyncRead for WatchedInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(cx, buffer);
        if read.is_ready() && buffer.filled().len() == before {
            self.gone.cancel();
        }
        read
    }
}

#[async_trait]
impl ToolService for CallRelay {
    async fn call(&self, _id: &str, tool: &str, input: Map<String, Value>) -> ToolOutput {
        if !self.known.iter().any(|known| known == tool) {
            return ToolOutput::error(format!("There is no tool `{tool}`."));
        }
        let (answer, output) = oneshot::channel();
        let call = RelayedCall {
            tool: format!("mcp__{}__{tool}", self.server),
            input: Value::Object(input),
            answer,
        };
        // Without a receiver the program has ended, so nobody waits for the answer.
        drop(self.calls.send(call));
        let output = tokio::select! {
            output = output => output.ok(),
            () = self.gone.cancelled() => None,
        };
        output.unwrap_or_else(|| ToolOutput::error(NOT_RUN))
    }
}

/// A call of the program, which waits for its output. Dropping it answers that it was not run.
#[derive(Debug)]
pub(crate) struct RelayedCall {
    /// Name by which rules know the tool.
    tool: String,
    input: Value,
    answer: oneshot::Sender<ToolOutput>,
}

impl RelayedCall {
    /// Runs the call if it is permitted, until the program no longer waits for it or `cancel`. One
    /// that was approved when the program asked about it is not asked about again, and runs with the
    /// approved input.
    pub(crate) async fn run(
        mut self,
        turn: &Turn<'_>,
        approvals: &Approvals,
        cancel: CancellationToken,
    ) {
        // It may have waited for a turn.
        if self.answer.is_closed() {
            return;
        }
        let approved = approvals.take(&self.tool, &self.input);
        let is_approved = approved.is_some();
        let call = ForeignCall {
            id: String::new(),
            line: self.tool.clone(),
            tool: self.tool,
            input: approved.unwrap_or(self.input),
            kind: ToolKind::Other,
        };
        let run = async {
            if is_approved {
                turn.run_approved(&call, cancel.clone()).await
            } else {
                turn.run_tool(&call, cancel.clone()).await
            }
        };
        tokio::pin!(run);
        tokio::select! {
            output = &mut run => drop(self.answer.send(output)),
            () = self.answer.closed() => {
                cancel.cancel();
                run.await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use serde_json::json;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn a_call_ends_as_soon_as_its_client_is_gone() {
        let (calls, mut received) = unbounded_channel();
        let server = HandedServer {
            name: "kit".to_owned(),
            tools: vec![McpToolSpec {
                name: "echo".to_owned(),
                description: String::new(),
                input_schema: json!({"type": "object"}),
            }],
            calls,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let serving = tokio::spawn(async move { server.serve(accepted).await });
        let about = json!({"name": "fake", "version": "1"});
        let start =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about});
        for request in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}),
        ] {
            client
                .write_all(format!("{request}\n").as_bytes())
                .await
                .unwrap();
        }
        let mut call = received.recv().await.unwrap();
        drop(client);
        // The server itself would wait for five seconds.
        let closed = tokio::time::timeout(Duration::from_secs(3), call.answer.closed());
        closed.await.unwrap();
        serving.abort();
    }
}

//! The member's MCP servers for its agent program. The member itself is the client of the server, so
//! that each call is decided by the member's permissions, whether or not the program asks about it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use swarm_agent::{AgentParts, ForeignCall, Turn};
use swarm_mcp::{McpError, ServedTools, ToolService, serve_tools};
use swarm_permissions::McpToolSpec;
use swarm_protocol::{AgentEvent, ToolKind};
use swarm_tools::{Tool, ToolOutput};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::approvals::Approvals;

/// Name of the server with the team's tools.
pub(crate) const TEAM_SERVER: &str = "swarm";

/// Answer to a call that the member has not run.
const NOT_RUN: &str = "The call was not run: the turn ended before it.";

/// Splits the name of an MCP tool into those of its server and of the tool.
pub(crate) fn split_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// Returns the names of the servers whose tools the member has, each once.
pub(crate) fn server_names(tools: &[Arc<dyn Tool>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (server, _) in tools.iter().filter_map(|tool| split_name(tool.name())) {
        if server != TEAM_SERVER && !names.iter().any(|name| name == server) {
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
        let served = ServedTools {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: String::new(),
            tools: self.tools.clone(),
            service: Arc::new(CallRelay {
                server: self.name.clone(),
                known: self.tools.iter().map(|tool| tool.name.clone()).collect(),
                calls: self.calls.clone(),
            }),
        };
        let (input, output) = client.into_split();
        serve_tools(served, input, output).await
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
        output.await.unwrap_or_else(|_| ToolOutput::error(NOT_RUN))
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
    /// Runs the call if it is permitted, until the program no longer waits for it. One that was
    /// approved when the program asked about it is not asked about again.
    pub(crate) async fn run(mut self, turn: &Turn<'_>, approvals: &Approvals) {
        // It may have waited for a turn.
        if self.answer.is_closed() {
            return;
        }
        let call = ForeignCall {
            id: String::new(),
            line: self.tool.clone(),
            tool: self.tool,
            input: self.input,
            kind: ToolKind::Other,
        };
        let cancel = turn.signals().cancel.child_token();
        let is_approved = approvals.take(&call.tool, &call.input);
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

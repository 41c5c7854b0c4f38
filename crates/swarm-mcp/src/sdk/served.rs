//! The server side: tools of this program for an MCP client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    ContentBlock, ErrorData, Implementation, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use swarm_permissions::McpToolSpec;
use swarm_tools::{Attachment, ToolOutput};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{McpError, Result};

/// How often a client that asks for progress hears of a running call. Clients wait for 30 seconds or
/// longer.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// Runs the calls of an MCP client.
#[async_trait]
pub trait ToolService: Send + Sync + fmt::Debug {
    /// Runs a call; `id` is that of the client's request. Dropping the future cancels it.
    async fn call(&self, id: &str, tool: &str, input: Map<String, Value>) -> ToolOutput;

    /// The client has cancelled this call and ignores its result, even if the call has ended.
    fn cancelled(&self, _id: &str) {}
}

/// The tools that this program offers.
#[derive(Debug, Clone)]
pub struct ServedTools {
    /// Version of the program.
    pub version: String,
    /// When and how to use the tools, for the client's model.
    pub instructions: String,
    /// The tools.
    pub tools: Vec<McpToolSpec>,
    /// Runs the calls.
    pub service: Arc<dyn ToolService>,
}

/// Serves tools over two streams until the client closes them. Clients of both eras of the protocol
/// are served: with the `initialize` handshake and without.
///
/// # Errors
/// [`McpError::Connect`] if the client speaks no known version.
pub async fn serve_tools(
    served: ServedTools,
    input: impl AsyncRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<()> {
    let transport = AsyncRwTransport::new_server(input, output);
    let service = match serve_server(Served(served), transport).await {
        Ok(service) => service,
        // The client left without a request.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(McpError::connect(error)),
    };
    let ended = service.waiting().await;
    ended.map(drop).map_err(McpError::connect)
}

#[derive(Debug)]
struct Served(ServedTools);

impl ServerHandler for Served {
    fn get_info(&self) -> InitializeResult {
        let program = Implementation::new("swarm", &self.0.version);
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        InitializeResult::new(capabilities)
            .with_server_info(program)
            .with_instructions(&self.0.instructions)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.tools.iter().map(|spec| {
            let schema = spec.input_schema.as_object().cloned().unwrap_or_default();
            Tool::new(spec.name.clone(), spec.description.clone(), schema)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = request.arguments.unwrap_or_default();
        let id = context.id.to_string();
        let called = tokio::select! {
            called = self.0.service.call(&id, &request.name, input) => called,
            () = context.ct.cancelled() => ToolOutput::error("the call was cancelled"),
            () = report_progress(&context) => ToolOutput::error("the client is gone"),
        };
        let mut blocks = vec![ContentBlock::text(called.content)];
        blocks.extend(called.attachments.into_iter().filter_map(picture));
        let result = if called.is_error {
            CallToolResult::error(blocks)
        } else {
            CallToolResult::success(blocks)
        };
        Ok(result.into())
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = notification.request_id {
            self.0.service.cancelled(&id.to_string());
        }
    }
}

/// Tells the client that the call is still running, until the client is gone. A call may wait for a
/// person longer than the client waits for an answer without progress.
async fn report_progress(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    for step in 1_u32.. {
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
        if context.peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}

/// Returns an attachment that MCP has a form for.
fn picture(attachment: Attachment) -> Option<ContentBlock> {
    match attachment {
        Attachment::Picture(picture) => {
            Some(ContentBlock::image(picture.base64, picture.media_type))
        }
        Attachment::Pdf(_) | Attachment::ToolReference(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    use super::*;

    /// A service whose calls wait forever.
    #[derive(Debug)]
    struct Waits;

    #[async_trait]
    impl ToolService for Waits {
        async fn call(&self, _id: &str, _tool: &str, _input: Map<String, Value>) -> ToolOutput {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_asks_for_progress_hears_that_a_call_still_runs() {
        let (client, server) = tokio::io::duplex(1 << 16);
        let tools = ServedTools {
            version: "1".to_owned(),
            instructions: String::new(),
            tools: Vec::new(),
            service: Arc::new(Waits),
        };
        let (input, output) = tokio::io::split(server);
        let serving = tokio::spawn(serve_tools(tools, input, output));
        let (input, mut output) = tokio::io::split(client);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let call = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}});
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
        ] {
            let line = format!("{message}\n");
            output.write_all(line.as_bytes()).await.unwrap();
        }
        let mut lines = BufReader::new(input).lines();
        let mut steps = Vec::new();
        while steps.len() < 2 {
            let line = lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "notifications/progress" {
                assert_eq!(message["params"]["progressToken"], "t");
                steps.push(message["params"]["progress"].as_f64().unwrap());
            }
        }
        assert_eq!(steps, [1.0, 2.0]);
        serving.abort();
    }
}

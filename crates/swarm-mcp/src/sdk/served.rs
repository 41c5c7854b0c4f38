//! The server side: tools of this program for an MCP client.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam,
    ContentBlock, ErrorData, Implementation, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use swarm_permissions::McpToolSpec;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::McpError;

/// Runs the calls of an MCP client.
#[async_trait]
pub trait ToolService: Send + Sync + fmt::Debug {
    /// Runs a call; `id` is that of the client's request. Dropping the future cancels it.
    ///
    /// # Errors
    /// Why it failed, for the client's model.
    async fn call(&self, id: &str, tool: &str, input: Map<String, Value>)
    -> Result<String, String>;

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
) -> Result<(), McpError> {
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
            () = context.ct.cancelled() => Err("the call was cancelled".to_owned()),
        };
        let result = match called {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
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

//! The tools for listing and reading MCP resources, with Claude Code's names and parameters.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;
use swarm_tools::{Tool, ToolContext, ToolOutput, TypedTool, one_line, prompt};

use crate::server::Server;
use crate::tool::{output, truncate_result};

/// Creates the tools for these servers; none without servers.
pub(crate) fn resource_tools(servers: Vec<Arc<Server>>) -> Vec<Arc<dyn Tool>> {
    if servers.is_empty() {
        return Vec::new();
    }
    let servers: Arc<[_]> = servers.into();
    vec![
        Arc::new(ListMcpResourcesTool(Arc::clone(&servers))),
        Arc::new(ReadMcpResourceTool(servers)),
    ]
}

#[derive(Debug)]
struct ListMcpResourcesTool(Arc<[Arc<Server>]>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParameters {
    /// The server whose resources are listed; omit to list all
    server: Option<String>,
}

#[async_trait]
impl TypedTool for ListMcpResourcesTool {
    type Parameters = ListParameters;
    const NAME: &'static str = "ListMcpResourcesTool";
    const PROMPT: &'static str = prompt!("tools/ListMcpResourcesTool");
    const KIND: ToolKind = ToolKind::Other;
    const READ_ONLY: bool = true;
    const SUBJECT: &'static str = "server";

    async fn call(&self, input: ListParameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let servers = match &input.server {
            Some(name) => vec![find(&self.0, name)?],
            None => self.0.iter().collect(),
        };
        let chars = servers.iter().map(|one| one.host.limits.result_chars);
        let chars = chars.max().unwrap_or_default();
        let listed = join_all(servers.iter().map(|server| server.resources(ctx))).await;
        let (mut resources, mut problems) = (Vec::new(), Vec::new());
        for (server, listed) in servers.iter().zip(listed) {
            match listed {
                Ok(listed) => resources.extend(listed.into_iter().map(|mut one| {
                    one["server"] = server.name.as_str().into();
                    one
                })),
                Err(error) => problems.push(format!("MCP server `{}`: {error}.", server.name)),
            }
        }
        if resources.is_empty() && !problems.is_empty() {
            return Err(problems.join("\n"));
        }
        let line = format!("{} resources", resources.len());
        let mut text = vec![json!(resources).to_string()];
        if resources.is_empty() {
            text = vec!["No resources are available.".to_owned()];
        }
        text.extend(problems);
        let text = truncate_result(text.join("\n"), chars);
        Ok(ToolOutput::ok(text, line))
    }
}

#[derive(Debug)]
struct ReadMcpResourceTool(Arc<[Arc<Server>]>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadParameters {
    /// The server
    server: String,
    /// The URI of the resource
    uri: String,
}

#[async_trait]
impl TypedTool for ReadMcpResourceTool {
    type Parameters = ReadParameters;
    const NAME: &'static str = "ReadMcpResourceTool";
    const PROMPT: &'static str = prompt!("tools/ReadMcpResourceTool");
    const KIND: ToolKind = ToolKind::Other;
    const READ_ONLY: bool = true;

    fn one_line(&self, input: &Value) -> String {
        let text = |field: &str| input[field].as_str().unwrap_or_default();
        let (server, uri) = (text("server"), text("uri"));
        one_line(&format!("{} {server} {uri}", Self::NAME))
    }

    async fn call(&self, input: ReadParameters, ctx: &ToolContext) -> Result<ToolOutput, String> {
        let server = find(&self.0, &input.server)?;
        let read = server.read_resource(&input.uri, ctx).await;
        Ok(output(server, read))
    }
}

/// Finds a server by name. The error is for the model.
fn find<'a>(servers: &'a [Arc<Server>], name: &str) -> Result<&'a Arc<Server>, String> {
    let found = servers.iter().find(|server| server.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = servers.iter().map(|server| &*server.name).collect();
        format!(
            "No MCP server with resources is named `{name}`; available servers: {}.",
            names.join(", ")
        )
    })
}

//! The MCP servers of a member's process.

use std::path::PathBuf;

use swarm_mcp::{McpHost, ProcessServers};
use swarm_permissions::{AgentDefinition, McpSettings, servers_without_tools};
use swarm_tools::ToolContext;
use tokio_util::sync::CancellationToken;

use crate::teammate::TeammateError;

/// Starts the servers and waits for their tools, with the directory, environment and sandbox of a
/// member. A server whose tools the lead has listed is
/// started at its first call.
pub(crate) async fn start_servers(
    settings: &McpSettings,
    definition: Option<&AgentDefinition>,
    sandbox: ToolContext,
    logs: Option<PathBuf>,
    stop: &CancellationToken,
) -> ProcessServers {
    let host = McpHost {
        cwd: sandbox.cwd.clone(),
        env: (*sandbox.env).clone(),
        logs,
        limits: settings.bounds.into(),
        sandbox: Some(sandbox),
    };
    let uses = definition.map_or(&[][..], |definition| &definition.mcp_servers);
    let origin = definition.map_or_else(String::new, |definition| {
        format!("agent {}", definition.name)
    });
    ProcessServers::start(settings.clone(), host, uses, &origin, stop).await
}

/// Checks that the servers that a definition needs have tools.
///
/// # Errors
/// [`TeammateError::Servers`], with the reason of each failure.
pub(crate) fn require(
    definition: &AgentDefinition,
    servers: &ProcessServers,
) -> Result<(), TeammateError> {
    let tools = &servers.main.tools;
    let missing = servers_without_tools(definition, tools.iter().map(|tool| tool.name()));
    if missing.is_empty() {
        return Ok(());
    }
    let problems: Vec<_> = servers
        .main
        .problems
        .iter()
        .map(ToString::to_string)
        .collect();
    Err(TeammateError::Servers {
        agent_type: definition.name.clone(),
        missing: missing.into_iter().map(str::to_owned).collect(),
        why: if problems.is_empty() {
            String::new()
        } else {
            format!(" ({})", problems.join("; "))
        },
    })
}

//! The MCP servers of a sub-agent.

use std::sync::Arc;

use swarm_mcp::{AgentServers, server_part};
use swarm_permissions::{AgentDefinition, McpUse};
use swarm_protocol::AgentEvent;
use swarm_tools::Tool;
use tokio_util::sync::CancellationToken;

use super::{Parent, Record, SubAgents};
use crate::agent_tool::missing_servers;

impl SubAgents {
    /// Starts the servers of the definition and waits for their tools. A server that fails is
    /// reported to the person and to the sub-agent, which starts without it. The error is for the
    /// model.
    pub(super) async fn start_servers(
        &self,
        record: &Record,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let definition = &record.request.definition;
        let Some(pool) = &self.kit().servers else {
            return Ok(());
        };
        if definition.mcp_servers.is_empty() && definition.required_mcp_servers.is_empty() {
            return Ok(());
        }
        let stopped = record.live().cancel.clone();
        let origin = format!("agent {}", definition.name);
        let servers = tokio::select! {
            servers = pool.for_agent(&definition.mcp_servers, &origin) => servers,
            () = cancel.cancelled() => return Err(STOPPED.to_owned()),
            () = stopped.cancelled() => return Err(STOPPED.to_owned()),
        };
        let events = self.root()?.events;
        for problem in servers.problems.iter().filter(|one| one.origin == origin) {
            events.emit(AgentEvent::Notice {
                line: problem.to_string(),
            });
        }
        record.live().servers = Some(servers);
        Ok(())
    }

    /// Waits until the servers that a type requires have tools, at most until their start timeout.
    /// The error is for the model: a server has failed or does not exist, or the calling agent may
    /// not use its tools.
    pub(crate) async fn require_servers(
        &self,
        parent: &Parent,
        definition: &AgentDefinition,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let missing = missing_servers(definition, &parent.tool_names);
        if missing.is_empty() {
            return Ok(());
        }
        let refused = |why: &str| {
            let (name, missing) = (&definition.name, missing.join(", "));
            Err(format!(
                "Agent was not called: `{name}` requires MCP servers that are not available: {missing}{why}."
            ))
        };
        let Some(pool) = &self.kit().servers else {
            return refused("");
        };
        let has = self.root()?.parent.tool_names.clone();
        if missing_servers(definition, &has).len() < missing.len() {
            return refused(" (the calling agent may not use all of their tools)");
        }
        let parts: Vec<String> = missing.iter().map(|&part| part.to_owned()).collect();
        let there = tokio::select! {
            there = pool.require(&parts) => there,
            () = cancel.cancelled() => return refused(" (the wait for them was interrupted)"),
        };
        match there {
            Ok(()) => Ok(()),
            Err(problem) => refused(&format!(" (`{}`: {})", problem.server, problem.why)),
        }
    }
}

/// The error of a call that was cancelled before the servers were running.
const STOPPED: &str =
    "The sub-agent was not started: it was stopped while its MCP servers were starting.";

/// Returns the tools of the process and of the sub-agent's servers. A tool of the sub-agent's own
/// servers replaces one with the same name.
pub(super) fn pool_with(
    mut pool: Vec<Arc<dyn Tool>>,
    definition: &AgentDefinition,
    servers: Option<&AgentServers>,
) -> Vec<Arc<dyn Tool>> {
    let Some(servers) = servers else {
        return pool;
    };
    let own = definition.mcp_servers.iter().filter_map(|one| match one {
        McpUse::Own(name, _) => server_part(name).ok(),
        McpUse::Shared(_) => None,
    });
    let own: Vec<_> = own.map(|part| format!("mcp__{part}__")).collect();
    // The tools for resources cover all servers of their agent.
    let is_replaced = |name: &str| {
        let of_all = !name.starts_with("mcp__");
        own.iter().any(|head| name.starts_with(head))
            || (of_all && servers.tools.iter().any(|tool| tool.name() == name))
    };
    pool.retain(|tool| !is_replaced(tool.name()));
    for tool in &servers.tools {
        if !pool.iter().any(|known| known.name() == tool.name()) {
            pool.push(Arc::clone(tool));
        }
    }
    pool
}

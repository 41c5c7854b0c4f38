//! The member's MCP servers.

use swarm_mcp::{McpHost, ProcessServers};
use swarm_policy::servers_without_tools;
use swarm_store::TeamStore;
use swarm_team::SpawnOrder;
use tokio_util::sync::CancellationToken;

use crate::teammate::TeammateError;

/// Finds out the tools of the member's servers. Those that its lead has listed are started at their first call.
pub(crate) async fn start(
    order: &SpawnOrder,
    store: &dyn TeamStore,
    stop: &CancellationToken,
) -> ProcessServers {
    let settings = order.equipment.mcp.clone();
    let host = McpHost {
        cwd: order.cwd.clone(),
        env: order.env.clone(),
        logs: Some(store.member_dir(&order.agent.team, &order.agent.name)),
        limits: settings.bounds.into(),
    };
    let definition = order.definition.as_ref();
    let uses = definition.map_or(&[][..], |definition| &definition.mcp_servers);
    let origin = definition.map_or_else(String::new, |definition| {
        format!("agent {}", definition.name)
    });
    ProcessServers::start(settings, host, uses, &origin, stop).await
}

/// Whether the servers that its type needs have tools: it would be no agent of that type without them.
///
/// # Errors
/// [`TeammateError::Servers`], with what became of those that failed.
pub(crate) fn require(order: &SpawnOrder, servers: &ProcessServers) -> Result<(), TeammateError> {
    let Some(definition) = &order.definition else {
        return Ok(());
    };
    let tools: Vec<_> = servers.tools().collect();
    let missing = servers_without_tools(definition, tools.iter().map(|tool| tool.name()));
    if missing.is_empty() {
        return Ok(());
    }
    let problems: Vec<_> = servers.problems().iter().map(ToString::to_string).collect();
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

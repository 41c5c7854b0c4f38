//! The member's MCP servers.

use swarm_mcp::{McpHost, ProcessServers};
use swarm_store::TeamStore;
use swarm_team::SpawnOrder;
use tokio_util::sync::CancellationToken;

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

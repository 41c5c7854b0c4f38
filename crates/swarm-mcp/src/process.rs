//! The MCP servers of a process.

use std::sync::Arc;

use swarm_permissions::{McpSettings, McpUse};
use tokio_util::sync::CancellationToken;

use crate::{AgentServers, McpHost, McpServers};

/// The servers that a process shares among its agents, and its main agent's MCP tools.
#[derive(Debug)]
pub struct ProcessServers {
    /// The shared servers.
    pub pool: Arc<McpServers>,
    /// The tools of the main agent, and what is unavailable to it.
    pub main: AgentServers,
}

impl ProcessServers {
    /// Waits until each server has listed its tools or failed, because a model receives its tools
    /// once, before its first request. Returns early, without tools, when `stop` is cancelled.
    pub async fn start(
        settings: McpSettings,
        host: McpHost,
        uses: &[McpUse],
        origin: &str,
        stop: &CancellationToken,
    ) -> Self {
        let pool = Arc::new(McpServers::new(settings, host));
        let main = tokio::select! {
            main = pool.for_agent(uses, origin) => main,
            () = stop.cancelled() => AgentServers::default(),
        };
        Self { pool, main }
    }

    /// Stops every server of the process.
    pub async fn close(self) {
        self.main.close().await;
        self.pool.close().await;
    }
}

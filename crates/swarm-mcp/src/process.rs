//! The MCP servers of a process.

use std::sync::Arc;

use swarm_permissions::{McpSettings, McpUse};
use swarm_tools::Tool;
use tokio_util::sync::CancellationToken;

use crate::{AgentServers, McpHost, McpProblem, McpServers};

/// The servers that a process shares among its agents, and its main agent's MCP tools.
#[derive(Debug)]
pub struct ProcessServers {
    pool: Arc<McpServers>,
    main: AgentServers,
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

    /// Returns the shared servers.
    pub fn pool(&self) -> &Arc<McpServers> {
        &self.pool
    }

    /// Returns the tools of the main agent.
    pub fn tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.main.tools.iter().cloned()
    }

    /// Returns the servers and tools unavailable to the main agent.
    pub fn problems(&self) -> &[McpProblem] {
        &self.main.problems
    }

    /// Returns the problems as a block of the system prompt, so that the model can report missing
    /// tools.
    pub fn prompt_block(&self) -> Option<String> {
        self.main.prompt_block()
    }

    /// Stops every server of the process.
    pub async fn close(self) {
        self.main.close().await;
        self.pool.close().await;
    }
}

//! The servers of a whole process.

use std::sync::Arc;

use swarm_permissions::{McpSettings, McpUse};
use swarm_tools::Tool;
use tokio_util::sync::CancellationToken;

use crate::{AgentServers, McpHost, McpProblem, McpServers};

/// The servers that a process shares among its agents, and what its main agent has of them.
#[derive(Debug)]
pub struct ProcessServers {
    pool: Arc<McpServers>,
    main: AgentServers,
}

impl ProcessServers {
    /// Waits until the tools of every server are known or cannot be had: a model is told of its tools once, before its first
    /// request. A server that comes later than that is there for the next process. Given up when `stop` falls.
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

    /// The shared servers.
    pub fn pool(&self) -> &Arc<McpServers> {
        &self.pool
    }

    /// The tools of the main agent.
    pub fn tools(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.main.tools.iter().cloned()
    }

    /// What the main agent does not have, and why.
    pub fn problems(&self) -> &[McpProblem] {
        &self.main.problems
    }

    /// The problems for the model, as a block of its system prompt: it can tell whoever expects those tools.
    pub fn remark(&self) -> Option<String> {
        self.main.remark()
    }

    /// Ends every server of the process.
    pub async fn close(self) {
        self.main.close().await;
        self.pool.close().await;
    }
}

//! The servers of one agent.

use std::sync::Arc;

use futures::future::join_all;
use swarm_tools::Tool;

use crate::McpProblem;
use crate::server::Server;

/// Maximum characters per unavailable server in the system prompt.
const PROBLEM_CHARS: usize = 300;

/// The MCP tools of one agent: those of all shared servers and of its private servers, which stop
/// with this value.
#[derive(Debug, Default)]
pub struct AgentServers {
    /// The tools in a stable order: by server, then in the server's order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The unavailable servers and tools.
    pub problems: Vec<McpProblem>,
    pub(crate) own: Vec<Arc<Server>>,
}

impl AgentServers {
    /// Returns the problems as a block of the system prompt, so that the model can report missing
    /// tools.
    pub fn prompt_block(&self) -> Option<String> {
        if self.problems.is_empty() {
            return None;
        }
        let lines = self.problems.iter().map(|problem| {
            let line = problem.to_string();
            let line: String = line.chars().take(PROBLEM_CHARS).collect();
            format!("\n- {}", line.replace('\n', " "))
        });
        let lines: String = lines.collect();
        Some(format!(
            "# Unavailable MCP servers\nTheir tools are not available in this session. If you need one, say so.{lines}\n"
        ))
    }

    /// Stops the agent's private servers; shared ones keep running.
    pub async fn close(mut self) {
        let own = std::mem::take(&mut self.own);
        join_all(own.iter().map(|server| server.stop())).await;
    }
}

impl Drop for AgentServers {
    fn drop(&mut self) {
        for server in &self.own {
            server.kill();
        }
    }
}

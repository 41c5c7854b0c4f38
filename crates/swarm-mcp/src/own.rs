//! The servers of one agent.

use std::sync::Arc;

use futures::future::join_all;
use swarm_tools::Tool;

use crate::McpProblem;
use crate::server::Server;

/// Characters that a model is told of one server that is not there.
const REMARK_CHARS: usize = 300;

/// What one agent has of servers: all tools of the shared ones, and those of its own, which end with this.
#[derive(Debug, Default)]
pub struct AgentServers {
    /// The tools, in an order that does not change: by server, each in its own order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What the agent does not have, and why.
    pub problems: Vec<McpProblem>,
    pub(crate) own: Vec<Arc<Server>>,
}

impl AgentServers {
    /// The problems for the model, as a block of its system prompt: it can tell whoever expects those tools.
    pub fn remark(&self) -> Option<String> {
        if self.problems.is_empty() {
            return None;
        }
        let lines = self.problems.iter().map(|problem| {
            let line = problem.to_string();
            let line: String = line.chars().take(REMARK_CHARS).collect();
            format!("\n- {}", line.replace('\n', " "))
        });
        let lines: String = lines.collect();
        Some(format!(
            "# MCP servers that are not available\nTheir tools cannot be had in this session. If you need one, say so.{lines}\n"
        ))
    }

    /// Ends the agent's own servers; shared ones go on.
    pub async fn close(mut self) {
        let own = std::mem::take(&mut self.own);
        join_all(own.iter().map(|server| server.end())).await;
    }
}

impl Drop for AgentServers {
    fn drop(&mut self) {
        for server in &self.own {
            server.end_now();
        }
    }
}

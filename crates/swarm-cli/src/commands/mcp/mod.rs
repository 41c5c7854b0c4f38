//! `swarm mcp`: the team's tools for MCP clients.

mod call;
mod run;
mod service;
mod shown;
mod tools;

pub(super) use run::{McpArgs, run};

//! What agents are equipped with: definitions, hooks and MCP servers from every source.

mod agents;
mod expand;
mod hooks;
mod load;
mod mcp;
mod shell;
mod skills;

pub(crate) use load::{agents, agents_with, found_agents, instruction_sources, load, with_agents};
pub(crate) use mcp::{FoundServers, ServerSources, mcp_bounds};

//! What agents are equipped with: definitions, hooks and MCP servers from every source.

mod agents;
mod hooks;
mod load;
mod shell;
mod skills;

pub(crate) use load::{agents, load, with_agents};

//! What agents are equipped with: definitions, hooks and MCP servers from every source.

mod load;

pub(crate) use load::load;

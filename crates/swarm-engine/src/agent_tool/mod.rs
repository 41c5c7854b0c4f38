//! The Agent tool: how a model adds teammates and sub-agents.

mod describe;
mod foreground;
mod fork;
mod input;
mod tool;

pub(crate) use describe::missing_servers;
pub use tool::AgentTool;

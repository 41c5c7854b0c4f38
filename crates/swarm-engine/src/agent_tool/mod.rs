//! The Agent tool: how a model adds teammates and sub-agents.

mod describe;
mod foreground;
mod fork;
mod input;
mod tool;

pub use tool::AgentTool;

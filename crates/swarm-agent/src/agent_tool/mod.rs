//! The Agent tool, with which a model starts teammates and sub-agents.

mod describe;
mod foreground;
mod input;
mod skill;
mod tool;

pub(crate) use describe::missing_servers;
pub(crate) use skill::{SkillCall, has_forks};
pub(crate) use tool::AgentTool;

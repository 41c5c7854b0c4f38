//! The environment of an agent: the section of its system prompt, and what it is told when a fact changes.

mod agent;
mod news;
mod section;

pub use agent::AgentEnvironment;
pub use section::{EnvironmentFact, HostFacts, PromptEnvironment};

pub(crate) use news::{CHANGED, EnvironmentNews};

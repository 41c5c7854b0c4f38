//! The environment of an agent: a section of its system prompt, and announcements of changed facts.

mod agent;
mod news;
mod section;

pub use agent::AgentEnvironment;
pub use section::{EnvironmentFact, HostFacts, PromptEnvironment};

pub(crate) use news::{CHANGED, EnvironmentNews};

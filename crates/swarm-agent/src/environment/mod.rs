//! The environment of an agent: a section of its system prompt, and announcements of changed facts.

mod agent;
mod section;

pub use agent::{AgentEnvironment, Brief};
pub use section::{EnvironmentFact, HostFacts, PromptEnvironment};

pub(crate) use agent::{CHANGED, EnvironmentNews};

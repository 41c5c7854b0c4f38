//! Agent definitions: sources and loading.

mod directory;
mod gather;
mod places;
mod plugins;

pub use gather::{AgentSearch, FoundAgents, find_agents};
pub use plugins::{EnabledPlugins, unused_parts};

#[cfg(test)]
mod tests;

//! Agent definitions: sources and loading.

mod directory;
mod gather;
mod places;

pub use gather::{AgentSearch, FoundAgents, find_agents};

#[cfg(test)]
mod tests;

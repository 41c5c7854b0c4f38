//! Agents that work beside the one that calls, as tools know them.

use std::fmt;

use async_trait::async_trait;

/// Whoever knows the sub-agents of this process.
#[async_trait]
pub trait BackgroundAgents: Send + Sync + fmt::Debug {
    /// Whether a sub-agent has this id or name.
    fn knows(&self, who: &str) -> bool;

    /// Gives a message to a sub-agent by its id or name: one that works reads it between two calls, one that has ended
    /// goes on in the background with it. `None` when nobody is called so; an error says why it was refused.
    async fn send(&self, to: &str, text: &str) -> Option<Result<String, String>>;
}

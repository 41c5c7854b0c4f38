//! Interface of tools to background sub-agents.

use std::fmt;

use async_trait::async_trait;

/// The sub-agents of this process.
#[async_trait]
pub trait BackgroundAgents: Send + Sync + fmt::Debug {
    /// Whether a sub-agent has this id or name.
    fn knows(&self, who: &str) -> bool;

    /// Sends a message to a sub-agent by id or name. A running sub-agent reads it between two
    /// calls; a finished one resumes in the background. Returns `None` if there is no such
    /// sub-agent; an error gives the reason for a refusal.
    async fn send(&self, to: &str, text: &str) -> Option<Result<String, String>>;
}

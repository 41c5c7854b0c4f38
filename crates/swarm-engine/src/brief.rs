//! What an agent is told anew once its conversation was compacted.

use std::fmt;

/// Knows what surrounds an agent and changes without it, such as its team.
pub trait Brief: Send + Sync + fmt::Debug {
    /// The present state as text; `None` where there is nothing to tell.
    fn brief(&self) -> Option<String>;
}

//! What an agent is told about its team while its conversation lasts.

use std::fmt;

use crate::EnvironmentFact;

/// Knows what surrounds an agent and changes without it, such as its team.
pub trait Brief: Send + Sync + fmt::Debug {
    /// The present state as text; `None` where there is nothing to tell.
    fn brief(&self) -> Option<String>;

    /// The facts about it that belong to the environment section, and are announced when they change.
    fn facts(&self) -> Vec<EnvironmentFact>;
}

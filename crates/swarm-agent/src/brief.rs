//! The team's state as its agents see it.

use std::fmt;

use crate::EnvironmentFact;

/// Provides the state of an agent's team, which changes independently of the agent.
pub trait Brief: Send + Sync + fmt::Debug {
    /// Returns the current state as text; `None` if there is nothing to report.
    fn brief(&self) -> Option<String>;

    /// Returns the facts for the environment section; changes of them are announced.
    fn facts(&self) -> Vec<EnvironmentFact>;
}

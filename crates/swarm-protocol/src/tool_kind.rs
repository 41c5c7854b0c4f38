//! Tool categories for permission decisions.

use serde::{Deserialize, Serialize};

/// Category of a tool; permission modes apply to categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Runs a program.
    Execute,
    /// Messages, tasks and members: acts through the store, which has its own checks.
    Team,
    /// The agent's internal state: its to-do list, plan mode and notifications. No other effects.
    Own,
    /// Asks a person; each call waits for the answer.
    Person,
    /// Fetches from the network: changes nothing locally, but discloses the request to the server.
    Web,
    /// Any other effect.
    Other,
}

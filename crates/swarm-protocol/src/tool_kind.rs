//! What a tool does to the world, as far as permission is concerned.

use serde::{Deserialize, Serialize};

/// The family of a tool; permission modes speak of families.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Looks at files.
    Read,
    /// Changes files.
    Edit,
    /// Runs a program.
    Execute,
    /// Messages, tasks and team life: acts through the store, under its own checks.
    Team,
    /// The agent's own books: its list of steps, its plan mode, what it is told. Touches nothing else.
    Own,
    /// Puts something before a person: each call waits for one.
    Person,
    /// Fetches from the network: changes nothing here, but the other side learns what it is asked for.
    Web,
    /// Anything else.
    Other,
}

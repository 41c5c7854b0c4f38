//! Where a person answers permission requests with a key.

use serde::{Deserialize, Serialize};

/// Whether permission requests can be answered in the terminals of a lead and of its members, in
/// addition to `swarm approve` and `swarm deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerInPlace {
    /// Only by commands in other terminals.
    #[default]
    Never,
    /// Yes, unless agents can type into the terminal.
    Auto,
    /// Yes, even if an agent's shell can type into it.
    Always,
}

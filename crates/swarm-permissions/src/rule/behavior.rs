//! What a rule does with the calls that it matches.

use serde::{Deserialize, Serialize};

/// The list of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Behavior {
    /// Matching calls run.
    Allow,
    /// Matching calls are denied.
    Deny,
    /// Matching calls require approval.
    Ask,
}

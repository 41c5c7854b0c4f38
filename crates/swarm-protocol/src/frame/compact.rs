//! Request to compact a member's conversation.

use serde::{Deserialize, Serialize};

use crate::IsoTime;

/// `compact_request`, specific to swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactRequest {
    /// Name of the requester.
    pub from: String,
    /// Instructions for the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Time of the request.
    pub timestamp: IsoTime,
}

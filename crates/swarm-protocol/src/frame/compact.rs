//! A request to compact a member's conversation.

use serde::{Deserialize, Serialize};

use crate::IsoTime;

/// `compact_request`; of swarm alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactRequest {
    /// Who asks.
    pub from: String,
    /// What the summary is to observe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// When.
    pub timestamp: IsoTime,
}

//! Request to interrupt a member's turn.

use serde::{Deserialize, Serialize};

use crate::IsoTime;

/// `interrupt_request`, specific to swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptRequest {
    /// Name of the requester.
    pub from: String,
    /// Time of the request.
    pub timestamp: IsoTime,
}

//! The shutdown handshake.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, PaneId, RequestId};

/// `shutdown_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRequest {
    /// `shutdown-<ms>@<name>`.
    pub request_id: RequestId,
    /// Who asks.
    pub from: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub timestamp: IsoTime,
    /// The member stops at once: its agent is not asked and its turn is interrupted. Absent for a request that the agent may
    /// refuse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// `shutdown_approved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownApproved {
    /// The request that is answered.
    pub request_id: RequestId,
    /// Who stops.
    pub from: String,
    /// When.
    pub timestamp: IsoTime,
    /// The pane that becomes free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<PaneId>,
    /// How the member ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<String>,
}

/// `shutdown_rejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRejected {
    /// The request that is answered.
    pub request_id: RequestId,
    /// Who goes on.
    pub from: String,
    /// Why.
    pub reason: String,
    /// When.
    pub timestamp: IsoTime,
}

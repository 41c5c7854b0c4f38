//! The shutdown handshake.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, PaneId, RequestId};

/// `shutdown_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRequest {
    /// `shutdown-<ms>@<name>`.
    pub request_id: RequestId,
    /// Name of the requester.
    pub from: String,
    /// Reason for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time of the request.
    pub timestamp: IsoTime,
    /// Whether the member stops immediately: its agent is not asked and its turn is interrupted.
    /// Absent if the agent may refuse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// `shutdown_approved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownApproved {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Name of the member.
    pub from: String,
    /// Time of the response.
    pub timestamp: IsoTime,
    /// Pane that is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<PaneId>,
    /// Backend of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_type: Option<String>,
}

/// `shutdown_rejected`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownRejected {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Name of the member, which continues.
    pub from: String,
    /// Reason for the refusal.
    pub reason: String,
    /// Time of the response.
    pub timestamp: IsoTime,
}

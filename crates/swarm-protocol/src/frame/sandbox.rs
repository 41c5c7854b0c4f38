//! The question whether a sandboxed command may reach a host, and its answer.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, RequestId, UnixMs};

/// `sandbox_permission_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPermissionRequest {
    /// `sandbox-<ms>-<7 base36>`.
    pub request_id: RequestId,
    /// Agent id of the member that asks.
    pub worker_id: String,
    /// Its name.
    pub worker_name: String,
    /// Its colour's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_color: Option<String>,
    /// What it wants to reach.
    pub host_pattern: HostPattern,
    /// When.
    pub created_at: UnixMs,
}

/// Hosts that a command wants to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPattern {
    /// Name of the host, possibly with wildcards.
    pub host: String,
}

/// `sandbox_permission_response`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPermissionResponse {
    /// The request that is answered.
    pub request_id: RequestId,
    /// The host that was asked for.
    pub host: String,
    /// Whether it may be reached.
    pub allow: bool,
    /// When.
    pub timestamp: IsoTime,
}

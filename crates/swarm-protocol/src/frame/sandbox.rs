//! Network access requests of sandboxed commands, and their responses.

use serde::{Deserialize, Serialize};

use crate::{IsoTime, RequestId, UnixMs};

/// `sandbox_permission_request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPermissionRequest {
    /// `sandbox-<ms>-<7 base36>`.
    pub request_id: RequestId,
    /// Agent id of the requester.
    pub worker_id: String,
    /// Name of the requester.
    pub worker_name: String,
    /// Colour name of the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_color: Option<String>,
    /// Requested hosts.
    pub host_pattern: HostPattern,
    /// Time of the request.
    pub created_at: UnixMs,
}

/// Hosts that a command wants to access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPattern {
    /// Host name, optionally with wildcards.
    pub host: String,
}

/// `sandbox_permission_response`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPermissionResponse {
    /// Id of the answered request.
    pub request_id: RequestId,
    /// Requested host.
    pub host: String,
    /// Whether access is allowed.
    pub allow: bool,
    /// Time of the response.
    pub timestamp: IsoTime,
}

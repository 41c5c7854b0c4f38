//! Control frames: JSON objects that travel as the text of an inbox entry.
//!
//! A text is a control frame only where it may be one. What swarm writes is marked `kind: control`; a foreign entry
//! counts only when type and sender fit, so that a report that quotes a frame arrives as text.

mod compact;
mod control;
mod idle;
mod permission;
mod plan;
mod rights;
mod sandbox;
mod shutdown;
mod task;

pub use compact::CompactRequest;
pub use control::ControlFrame;
pub use idle::{IdleNotification, IdleReason};
pub use permission::{
    ApprovedRequest, PermissionRequestFrame, PermissionResponse, PermissionResult,
};
pub use plan::{PlanApprovalRequest, PlanApprovalResponse};
pub use rights::{ModeSetRequest, TeamPermissionUpdate};
pub use sandbox::{HostPattern, SandboxPermissionRequest, SandboxPermissionResponse};
pub use shutdown::{ShutdownApproved, ShutdownRejected, ShutdownRequest};
pub use task::TaskAssignment;

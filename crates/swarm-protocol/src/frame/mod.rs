//! Control frames: JSON objects that travel as the text of an inbox entry.
//!
//! A text is only treated as a control frame if its entry permits it. Entries that swarm writes are
//! marked `kind: control`; an entry of another program must have a matching type and sender, so
//! that a report that quotes a frame is delivered as text.

mod compact;
mod control;
mod idle;
mod interrupt;
mod permission;
mod plan;
mod rights;
mod sandbox;
mod shutdown;
mod task;

pub use compact::CompactRequest;
pub use control::ControlFrame;
pub use idle::{IdleNotification, IdleReason};
pub use interrupt::InterruptRequest;
pub use permission::{
    ApprovedRequest, PermissionRequestFrame, PermissionResponse, PermissionResult,
};
pub use plan::{PlanApprovalRequest, PlanApprovalResponse};
pub use rights::{ModeSetRequest, TeamPermissionUpdate};
pub use sandbox::{HostPattern, SandboxPermissionRequest, SandboxPermissionResponse};
pub use shutdown::{ShutdownApproved, ShutdownRejected, ShutdownRequest};
pub use task::TaskAssignment;

//! Control frames: JSON objects that travel as the text of an inbox entry.
//!
//! A text is only treated as a control frame if its entry permits it. Entries that swarm writes are
//! marked `kind: control`; an entry of another program must have a matching type and sender, so
//! that a report that quotes a frame is delivered as text.

mod approval;
mod control;
mod notice;

pub use approval::{
    ApprovedRequest, HostPattern, PermissionRequestFrame, PermissionResponse, PermissionResult,
    PlanApprovalRequest, PlanApprovalResponse, SandboxPermissionRequest, SandboxPermissionResponse,
    ShutdownApproved, ShutdownRejected, ShutdownRequest,
};
pub use control::ControlFrame;
pub use notice::{
    CompactRequest, IdleNotification, IdleReason, InterruptRequest, ModeSetRequest, TaskAssignment,
    TeamPermissionUpdate,
};

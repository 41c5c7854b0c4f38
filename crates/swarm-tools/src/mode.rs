//! Permission mode of the calling agent, as far as its tools may change it.

use std::fmt;

use swarm_protocol::PermissionMode;

/// Switches an agent into plan mode and back, and grants the permissions of a skill in use. Never
/// exceeds the agent's own permissions.
pub trait ModeSwitch: Send + Sync + fmt::Debug {
    /// Returns the current mode.
    fn mode(&self) -> PermissionMode;

    /// Switches to plan mode and remembers the previous mode.
    fn enter_plan(&self);

    /// Returns the mode after plan mode, or `None` if the agent is limited to plan mode.
    fn after_plan(&self) -> Option<PermissionMode>;

    /// Leaves plan mode and returns the new mode. Returns `None` and changes nothing if the agent
    /// is limited to plan mode.
    fn leave_plan(&self) -> Option<PermissionMode>;

    /// Allows calls that match these permission rules until the turn ends. Deny and ask rules still
    /// apply.
    fn grant_for_turn(&self, rules: &[String], origin: &str);
}

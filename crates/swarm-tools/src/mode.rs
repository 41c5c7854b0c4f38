//! The permission mode of the agent that calls, as far as its own tools may change it.

use std::fmt;

use swarm_protocol::PermissionMode;

/// Switches an agent into plan mode and back, and grants what a skill in use needs. Never above what the agent may be.
pub trait ModeSwitch: Send + Sync + fmt::Debug {
    /// The mode in force.
    fn mode(&self) -> PermissionMode;

    /// Switches to plan mode; the mode so far is kept for the way back.
    fn enter_plan(&self);

    /// The mode that leaving plan mode would lead to. `None` where the agent may be in no other.
    fn after_plan(&self) -> Option<PermissionMode>;

    /// Switches to that mode and tells which it is. `None`, and nothing changed, where there is none.
    fn leave_plan(&self) -> Option<PermissionMode>;

    /// Lets calls that these permission rules name run without a question until the turn ends. What is denied or asked
    /// about stays so.
    fn lend(&self, rules: &[String], origin: &str);
}

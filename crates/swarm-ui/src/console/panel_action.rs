//! Actions of the team panel.

/// An action on the selected member or task of the team panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanelAction {
    /// Shows the conversation of a member.
    Look,
    /// Starts a message to a member.
    Write,
    /// Interrupts a member's turn.
    Interrupt,
    /// Pauses a member, or lets it continue.
    Pause,
    /// Changes a member's permission mode.
    Mode,
    /// Shuts a member down.
    ShutDown,
    /// Shows the pane of a member.
    Attach,
    /// Shows a task.
    ShowTask,
}

//! Captured windows of a team.

use swarm_protocol::{Color, MemberName, PaneId};

use crate::Size;

/// A window with all its panes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowView {
    /// Name of the window.
    pub name: String,
    /// Size of the whole window.
    pub size: Size,
    /// Panes, from top to bottom and left to right.
    pub panes: Vec<CapturedPane>,
}

/// A pane of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedPane {
    /// Id of the pane.
    pub id: PaneId,
    /// Member in the pane; `None` for the lead's pane and panes of others.
    pub member: Option<MemberName>,
    /// Title as displayed; empty for panes of others.
    pub title: String,
    /// State from the terminal title, or the exit status; may be empty.
    pub state: String,
    /// Colour of title and border of a member's pane.
    pub color: Option<Color>,
    /// Number of columns to the left of it in the window.
    pub left: u16,
    /// Number of rows above it in the window, including its title row.
    pub top: u16,
    /// Size of the pane.
    pub size: Size,
    /// Visible content, one line per row, colours as SGR sequences. Empty for panes other than the
    /// lead's and members', which are private.
    pub content: String,
}

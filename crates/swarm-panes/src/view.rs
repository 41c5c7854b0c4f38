//! A picture of a team's windows.

use swarm_protocol::{Color, MemberName, PaneId};

use crate::Size;

/// One window with all its panes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowView {
    /// The window's name.
    pub name: String,
    /// Columns and rows of the whole window.
    pub size: Size,
    /// Its panes, top to bottom and left to right.
    pub panes: Vec<CapturedPane>,
}

/// One pane of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedPane {
    /// Its id.
    pub id: PaneId,
    /// The member in it; none for the lead's pane and for panes of others.
    pub member: Option<MemberName>,
    /// Its title as shown; empty for panes of others.
    pub title: String,
    /// What its program says of itself in its terminal's title, or how that ended; may be empty.
    pub state: String,
    /// Colour of title and border, for a member's pane.
    pub color: Option<Color>,
    /// Columns left of it in the window.
    pub left: u16,
    /// Rows above it in the window, the row of its own title included.
    pub top: u16,
    /// Columns and rows.
    pub size: Size,
    /// What it shows, one line per row, colours as SGR sequences. Empty for panes that are neither the lead's nor a
    /// member's: they are nobody's business.
    pub content: String,
}

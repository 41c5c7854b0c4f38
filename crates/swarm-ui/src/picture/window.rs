//! What is drawn: windows and their panes as captured.

use swarm_protocol::Color;

/// A window of a terminal multiplexer with its panes. Cells that no pane covers are borders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// Its name.
    pub name: String,
    /// Columns of the whole window.
    pub columns: u16,
    /// Rows of the whole window, without the status line.
    pub rows: u16,
    /// Its panes.
    pub panes: Vec<Pane>,
    /// The line below the panes; none when empty.
    pub status: String,
}

/// One pane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pane {
    /// Columns left of it in the window.
    pub left: u16,
    /// Rows above it in the window, that of its own title included.
    pub top: u16,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// What the border above it says.
    pub title: String,
    /// Colour of that border.
    pub color: Option<Color>,
    /// Whether it has the keyboard.
    pub active: bool,
    /// Its lines, with SGR sequences as `tmux capture-pane -ep` gives them.
    pub content: String,
}

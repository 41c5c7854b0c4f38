//! Input of the pictures: windows and their panes as captured.

use std::time::Duration;

use swarm_protocol::Color;

/// Windows at a point of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Time since the beginning of the recording.
    pub at: Duration,
    /// The windows.
    pub windows: Vec<Window>,
}

/// A window of a terminal multiplexer with its panes. Cells that no pane covers are borders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// Name of the window.
    pub name: String,
    /// Width of the whole window in columns.
    pub columns: u16,
    /// Height of the whole window in rows, without the status line.
    pub rows: u16,
    /// Panes of the window.
    pub panes: Vec<Pane>,
    /// Text of the status line; not drawn if empty.
    pub status: String,
}

/// A pane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pane {
    /// Number of columns to the left of it in the window.
    pub left: u16,
    /// Number of rows above it in the window, including its title row.
    pub top: u16,
    /// Width in columns.
    pub width: u16,
    /// Height in rows.
    pub height: u16,
    /// Text of the border above it.
    pub title: String,
    /// Colour of that border.
    pub color: Option<Color>,
    /// Whether it is the active pane.
    pub active: bool,
    /// Content with SGR sequences, as printed by `tmux capture-pane -ep`.
    pub content: String,
}

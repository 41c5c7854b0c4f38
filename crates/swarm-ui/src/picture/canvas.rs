//! Windows and their panes as captured, and a framed window as a grid of cells: the content of its
//! panes, and the borders around them.

use std::time::Duration;

use anstyle::Style;
use swarm_protocol::Color;
use unicode_width::UnicodeWidthStr;

use crate::picture::screen::{Cell, cells, indexed};
use crate::sanitize::clean_line;
use crate::width::fit;

/// Maximum dimension; larger windows are truncated so that an invalid size cannot exhaust the
/// memory.
const LARGEST: u16 = 512;

/// Directions in which a border extends from the centre of its cell: up, down, left, right as bits
/// from the lowest.
type Arms = usize;

/// The characters of borders, by their arms.
pub(super) const BORDERS: [char; 16] = [
    ' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼',
];

/// A cell of a pane or a title, or a border in the colour of the pane below it.
type CanvasCell = Result<Cell, (Arms, Option<Color>)>;

/// A grid of cells.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) columns: usize,
    pub(super) rows: usize,
    spots: Vec<CanvasCell>,
}

/// Position of the first pane cell of a window on its canvas.
#[derive(Debug, Clone, Copy)]
struct Offset {
    x: usize,
    y: usize,
}

impl Canvas {
    /// Creates the framed window. If its first row is a border, it is the top of the frame.
    pub(super) fn of(window: &Window) -> Self {
        let titled = !window.panes.is_empty() && window.panes.iter().all(|pane| pane.top > 0);
        let offset = Offset {
            x: 1,
            y: usize::from(!titled),
        };
        let columns = usize::from(window.columns.min(LARGEST)) + 2;
        let rows = usize::from(window.rows.min(LARGEST)) + offset.y + 1;
        let mut canvas = Self {
            columns,
            rows,
            spots: vec![Err((0, None)); columns * rows],
        };
        let inside = (columns - 1, rows - 1);
        for pane in &window.panes {
            canvas.place(pane, offset, inside);
        }
        canvas.join_borders();
        for pane in &window.panes {
            canvas.title(pane, offset, inside);
        }
        canvas
    }

    /// Returns the cell at a position inside the canvas.
    pub(super) fn cell_at(&self, x: usize, y: usize) -> &CanvasCell {
        &self.spots[y * self.columns + x]
    }

    fn cell_at_mut(&mut self, x: usize, y: usize) -> &mut CanvasCell {
        &mut self.spots[y * self.columns + x]
    }

    fn place(&mut self, pane: &Pane, offset: Offset, (columns, rows): (usize, usize)) {
        let (left, top) = (
            usize::from(pane.left) + offset.x,
            usize::from(pane.top) + offset.y,
        );
        let lines = cells(
            &pane.content,
            pane.width.min(LARGEST),
            pane.height.min(LARGEST),
        );
        for (y, line) in (top..rows).zip(lines) {
            for (x, cell) in (left..columns).zip(line) {
                *self.cell_at_mut(x, y) = Ok(cell);
            }
        }
    }

    fn join_borders(&mut self) {
        for y in 0..self.rows {
            for x in 0..self.columns {
                if let Err((_, color)) = *self.cell_at(x, y) {
                    let arms = Arms::from(y > 0 && self.is_border(x, y - 1))
                        | Arms::from(y + 1 < self.rows && self.is_border(x, y + 1)) << 1
                        | Arms::from(x > 0 && self.is_border(x - 1, y)) << 2
                        | Arms::from(x + 1 < self.columns && self.is_border(x + 1, y)) << 3;
                    *self.cell_at_mut(x, y) = Err((arms, color));
                }
            }
        }
    }

    fn is_border(&self, x: usize, y: usize) -> bool {
        self.cell_at(x, y).is_err()
    }

    /// Colours the border above a pane and writes its title there, in brackets if the pane is
    /// active.
    fn title(&mut self, pane: &Pane, offset: Offset, (columns, rows): (usize, usize)) {
        let left = usize::from(pane.left) + offset.x;
        let row = (usize::from(pane.top) + offset.y).checked_sub(1);
        let Some(row) = row.filter(|row| *row < rows) else {
            return;
        };
        let right = (left + usize::from(pane.width)).min(columns);
        for x in left..right {
            if let Err((_, color)) = self.cell_at_mut(x, row) {
                *color = pane.color;
            }
        }
        let room = right.saturating_sub(left + 4);
        let title = fit(&clean_line(&pane.title), room);
        if title.is_empty() {
            return;
        }
        let title = if pane.active {
            format!("[{title}]")
        } else {
            format!(" {title} ")
        };
        let style = color(pane.color).bold();
        let width = u16::try_from(title.width()).unwrap_or(LARGEST);
        let title = cells(&title, width, 1).into_iter().flatten();
        for (x, cell) in (left + 1..right).zip(title) {
            if self.is_border(x, row) {
                *self.cell_at_mut(x, row) = Ok(Cell { style, ..cell });
            }
        }
    }
}

/// Returns the terminal colour of an agent.
pub(super) fn color(of: Option<Color>) -> Style {
    let index = of.map(|color| match color {
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Purple => 5,
        Color::Cyan => 6,
        Color::Pink => 205,
        Color::Orange => 208,
    });
    Style::new().fg_color(index.map(indexed))
}

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

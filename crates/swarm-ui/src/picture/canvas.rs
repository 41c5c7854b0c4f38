//! A window laid out in cells: what its panes show, and the borders where no pane is.

use swarm_protocol::Color;

use crate::picture::cell::{Cell, Hue, Ink};
use crate::picture::content::cells;
use crate::picture::line::Arms;
use crate::picture::window::{Pane, Window};
use crate::sanitize::clean_line;
use crate::width::fit;

/// Larger windows are cut: no terminal is so large, and a wrong number must not eat the memory.
const LARGEST: usize = 512;

/// What a place of the canvas holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spot {
    /// Part of a pane or of a title.
    Cell(Cell),
    /// A line between panes, in the colour of the pane below it.
    Border(Arms, Option<Color>),
}

/// A grid of spots.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) columns: usize,
    pub(super) rows: usize,
    spots: Vec<Spot>,
}

/// Where the first pane cell of a window is on its canvas.
#[derive(Debug, Clone, Copy)]
struct Offset {
    x: usize,
    y: usize,
}

impl Canvas {
    /// The window as it is.
    pub(super) fn of(window: &Window) -> Self {
        Self::laid_out(window, Offset { x: 0, y: 0 }, 0)
    }

    /// The window in a frame. A window whose first row is a border has the top of its frame already.
    pub(super) fn framed(window: &Window) -> Self {
        let titled = !window.panes.is_empty() && window.panes.iter().all(|pane| pane.top > 0);
        let offset = Offset {
            x: 1,
            y: usize::from(!titled),
        };
        Self::laid_out(window, offset, 1)
    }

    fn laid_out(window: &Window, offset: Offset, frame: usize) -> Self {
        let columns = usize::from(window.columns).min(LARGEST) + offset.x + frame;
        let rows = usize::from(window.rows).min(LARGEST) + offset.y + frame;
        let border = Spot::Border(Arms::default(), None);
        let mut canvas = Self {
            columns,
            rows,
            spots: vec![border; columns * rows],
        };
        let inside = (columns - frame, rows - frame);
        for pane in &window.panes {
            canvas.place(pane, offset, inside);
        }
        canvas.join_borders();
        for pane in &window.panes {
            canvas.title(pane, offset, inside);
        }
        canvas
    }

    /// What is at a place inside the canvas.
    pub(super) fn spot(&self, x: usize, y: usize) -> &Spot {
        &self.spots[y * self.columns + x]
    }

    fn spot_mut(&mut self, x: usize, y: usize) -> &mut Spot {
        &mut self.spots[y * self.columns + x]
    }

    fn place(&mut self, pane: &Pane, offset: Offset, (columns, rows): (usize, usize)) {
        let (left, top) = (
            usize::from(pane.left) + offset.x,
            usize::from(pane.top) + offset.y,
        );
        let width = usize::from(pane.width).min(columns.saturating_sub(left));
        let height = usize::from(pane.height).min(rows.saturating_sub(top));
        let mut lines = cells(&pane.content, width, height).into_iter();
        for y in top..top + height {
            let mut line = lines.next().unwrap_or_default().into_iter();
            for x in left..left + width {
                *self.spot_mut(x, y) = Spot::Cell(line.next().unwrap_or_default());
            }
        }
    }

    fn join_borders(&mut self) {
        for y in 0..self.rows {
            for x in 0..self.columns {
                if let Spot::Border(_, color) = *self.spot(x, y) {
                    let arms = Arms {
                        up: y > 0 && self.is_border(x, y - 1),
                        down: y + 1 < self.rows && self.is_border(x, y + 1),
                        left: x > 0 && self.is_border(x - 1, y),
                        right: x + 1 < self.columns && self.is_border(x + 1, y),
                    };
                    *self.spot_mut(x, y) = Spot::Border(arms.straightened(), color);
                }
            }
        }
    }

    fn is_border(&self, x: usize, y: usize) -> bool {
        matches!(self.spot(x, y), Spot::Border(..))
    }

    /// Colours the border above a pane and writes its title there, in brackets if the pane has the keyboard.
    fn title(&mut self, pane: &Pane, offset: Offset, (columns, rows): (usize, usize)) {
        let left = usize::from(pane.left) + offset.x;
        let row = (usize::from(pane.top) + offset.y).checked_sub(1);
        let Some(row) = row.filter(|row| *row < rows) else {
            return;
        };
        let right = (left + usize::from(pane.width)).min(columns);
        for x in left..right {
            if let Spot::Border(_, color) = self.spot_mut(x, row) {
                *color = pane.color;
            }
        }
        let room = right.saturating_sub(left + 4);
        let title = fit(&clean_line(&pane.title), room, "…");
        if title.is_empty() {
            return;
        }
        let ink = Ink {
            foreground: pane.color.map(hue),
            bold: true,
            ..Ink::default()
        };
        let title = if pane.active {
            format!("[{title}]")
        } else {
            format!(" {title} ")
        };
        for (x, cell) in (left + 1..right).zip(cells(&title, room + 2, 1).into_iter().flatten()) {
            if self.is_border(x, row) {
                *self.spot_mut(x, row) = Spot::Cell(Cell { ink, ..cell });
            }
        }
    }
}

/// The terminal colour of an agent's colour.
pub(super) fn hue(color: Color) -> Hue {
    Hue::Indexed(match color {
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Purple => 5,
        Color::Cyan => 6,
        Color::Pink => 205,
        Color::Orange => 208,
    })
}

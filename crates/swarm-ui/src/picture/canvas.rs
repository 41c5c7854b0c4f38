//! A window in a frame, laid out in cells: the content of its panes, and the borders around them.

use anstyle::Style;
use swarm_protocol::Color;
use unicode_width::UnicodeWidthStr;

use crate::picture::line::Arms;
use crate::picture::screen::{Cell, cells, indexed};
use crate::picture::window::{Pane, Window};
use crate::sanitize::clean_line;
use crate::width::fit;

/// Larger windows are cut: no terminal is so large, and a wrong number must not use up the memory.
const LARGEST: u16 = 512;

/// A cell of a pane or a title, or a line between panes in the colour of the pane below it.
type Spot = Result<Cell, (Arms, Option<Color>)>;

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
    /// The window in a frame. If its first row is a border, that is the top of the frame.
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
            spots: vec![Err((Arms::default(), None)); columns * rows],
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
        let lines = cells(
            &pane.content,
            pane.width.min(LARGEST),
            pane.height.min(LARGEST),
        );
        for (y, line) in (top..rows).zip(lines) {
            for (x, cell) in (left..columns).zip(line) {
                *self.spot_mut(x, y) = Ok(cell);
            }
        }
    }

    fn join_borders(&mut self) {
        for y in 0..self.rows {
            for x in 0..self.columns {
                if let Err((_, color)) = *self.spot(x, y) {
                    let arms = Arms {
                        up: y > 0 && self.is_border(x, y - 1),
                        down: y + 1 < self.rows && self.is_border(x, y + 1),
                        left: x > 0 && self.is_border(x - 1, y),
                        right: x + 1 < self.columns && self.is_border(x + 1, y),
                    };
                    *self.spot_mut(x, y) = Err((arms, color));
                }
            }
        }
    }

    fn is_border(&self, x: usize, y: usize) -> bool {
        self.spot(x, y).is_err()
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
            if let Err((_, color)) = self.spot_mut(x, row) {
                *color = pane.color;
            }
        }
        let room = right.saturating_sub(left + 4);
        let title = fit(&clean_line(&pane.title), room, "…");
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
                *self.spot_mut(x, row) = Ok(Cell { style, ..cell });
            }
        }
    }
}

/// The terminal colour of an agent.
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

//! Tables for `status`, `task list` and their like.

use swarm_protocol::Color;

use crate::Theme;
use crate::sanitize::clean_line;
use crate::style::{Style, paint};
use crate::width::{columns, fit};

/// Columns between two columns of the table.
const GAP: usize = 2;

/// A column is not cut below this many columns while others can give more.
const NARROWEST: usize = 8;

/// On which side of its column a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// At the left.
    #[default]
    Left,
    /// At the right: numbers.
    Right,
}

/// One field of a table. Its text is cleaned, whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    style: Option<Style>,
}

impl Cell {
    /// A text without a style.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self {
            text: clean_line(text.as_ref()),
            style: None,
        }
    }

    /// A name in its bearer's colour.
    pub fn name(text: impl AsRef<str>, color: Option<Color>) -> Self {
        Self::new(text).styled(Style::Name(color))
    }

    /// Of lesser weight.
    #[must_use]
    pub fn dim(self) -> Self {
        self.styled(Style::Dim)
    }

    /// It worked.
    #[must_use]
    pub fn good(self) -> Self {
        self.styled(Style::Good)
    }

    /// It failed.
    #[must_use]
    pub fn bad(self) -> Self {
        self.styled(Style::Bad)
    }

    /// It waits for somebody.
    #[must_use]
    pub fn warn(self) -> Self {
        self.styled(Style::Warn)
    }

    fn styled(self, style: Style) -> Self {
        Self {
            style: Some(style),
            ..self
        }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Rows under headings, aligned by display width and cut to the width of the theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table with these headings, all at the left.
    pub fn new<T: AsRef<str>>(headings: impl IntoIterator<Item = T>) -> Self {
        let headings = headings
            .into_iter()
            .map(|heading| (clean_line(heading.as_ref()), Align::Left))
            .collect();
        Self {
            headings,
            rows: Vec::new(),
        }
    }

    /// Puts a column, counted from 0, at the right. A column that does not exist is none.
    #[must_use]
    pub fn right(mut self, column: usize) -> Self {
        if let Some((_, align)) = self.headings.get_mut(column) {
            *align = Align::Right;
        }
        self
    }

    /// Adds a row. Missing fields are empty; fields beyond the headings are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize_with(self.headings.len(), || Cell::new(""));
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines, the headings first, each with its end; no line ends in spaces.
    pub fn render(&self, theme: Theme) -> String {
        let widths = self.widths(theme.width);
        let headings = self.headings.iter().map(|(text, _)| Cell::new(text).dim());
        let headings: Vec<Cell> = headings.collect();
        std::iter::once(&headings)
            .chain(&self.rows)
            .map(|row| self.line(row, &widths, theme))
            .collect()
    }

    fn line(&self, row: &[Cell], widths: &[usize], theme: Theme) -> String {
        let mut line = String::new();
        let mut blank = 0;
        for ((cell, width), (_, align)) in row.iter().zip(widths).zip(&self.headings) {
            let text = fit(&cell.text, *width, theme.signs().ellipsis);
            let room = width - columns(&text);
            let (before, after) = match align {
                Align::Left => (0, room),
                Align::Right => (room, 0),
            };
            if text.is_empty() {
                blank += width + GAP;
                continue;
            }
            line.extend(std::iter::repeat_n(' ', blank + before));
            line += &cell
                .style
                .map_or(text.clone(), |style| paint(theme, style, &text));
            blank = after + GAP;
        }
        line + "\n"
    }

    /// The width of each column: that of its longest text, and less where all together would not fit.
    fn widths(&self, limit: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self
            .headings
            .iter()
            .map(|(text, _)| columns(text))
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = columns(&cell.text).max(*width);
            }
        }
        let gaps = GAP * widths.len().saturating_sub(1);
        if let Some(limit) = limit {
            shrink(&mut widths, limit.saturating_sub(gaps), NARROWEST);
            shrink(&mut widths, limit.saturating_sub(gaps), 0);
        }
        widths
    }
}

/// Takes columns from the widest until all fit into `room`, leaving none below `least`.
fn shrink(widths: &mut [usize], room: usize, least: usize) {
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max_by_key(|width| **width) {
            Some(widest) if *widest > least => *widest -= 1,
            _ => return,
        }
    }
}

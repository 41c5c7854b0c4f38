//! Tables for `status`, `task list` and their like.

use std::borrow::Cow;

use swarm_protocol::Color;

use crate::Theme;
use crate::sanitize::clean_line;
use crate::style::{Style, paint};
use crate::width::{columns, fit};

/// Columns between two columns of the table.
const GAP: usize = 2;

/// A column is not cut below this many columns while others can give more.
const NARROWEST: usize = 8;

/// Spare columns go before one of the others is cut below this many columns.
const READABLE: usize = 16;

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
    /// Columns that may be left out, the first to go first.
    spare: Vec<usize>,
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
            spare: Vec::new(),
        }
    }

    /// Lets these columns, counted from 0, be left out where there is no room for all, the first one first. A column
    /// in which nothing stands goes before any of them.
    #[must_use]
    pub fn spare(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.spare.extend(columns);
        self
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
        let mut text = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            self.line(&mut text, row, &widths, theme);
        }
        text
    }

    fn line(&self, line: &mut String, row: &[Cell], widths: &[Option<usize>], theme: Theme) {
        let mut blank = 0;
        for ((cell, width), (_, align)) in row.iter().zip(widths).zip(&self.headings) {
            let Some(width) = *width else { continue };
            let mut text = Cow::Borrowed(cell.text.as_str());
            let mut taken = columns(&text);
            if taken > width {
                text = Cow::Owned(fit(&text, width, theme.signs().ellipsis));
                taken = columns(&text);
            }
            let room = width - taken;
            let (before, after) = match align {
                Align::Left => (0, room),
                Align::Right => (room, 0),
            };
            if text.is_empty() {
                blank += width + GAP;
                continue;
            }
            line.push_str(&" ".repeat(blank + before));
            match cell.style.filter(|_| theme.color) {
                Some(style) => line.push_str(&paint(theme, style, &text)),
                None => line.push_str(&text),
            }
            blank = after + GAP;
        }
        line.push('\n');
    }

    /// The width of each column: that of its longest text, and less where all together would not fit. `None` for one
    /// that is left out.
    fn widths(&self, limit: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> = (0..self.headings.len())
            .map(|column| Some(self.natural(column)))
            .collect();
        if let Some(limit) = limit {
            self.leave_out(&mut widths, limit);
            let room = limit.saturating_sub(gaps(&widths));
            shrink(&mut widths, room, NARROWEST);
            shrink(&mut widths, room, 0);
        }
        widths
    }

    fn natural(&self, column: usize) -> usize {
        let texts = self.rows.iter().filter_map(|row| row.get(column));
        let widest = texts.map(|cell| columns(&cell.text)).max();
        let heading = self.headings.get(column);
        widest
            .unwrap_or(0)
            .max(heading.map_or(0, |(text, _)| columns(text)))
    }

    /// Leaves columns out until what stays is readable, or nothing more may go.
    fn leave_out(&self, widths: &mut [Option<usize>], limit: usize) {
        let empty = (0..widths.len()).filter(|column| {
            let mut texts = self.rows.iter().filter_map(|row| row.get(*column));
            !self.rows.is_empty() && texts.all(|cell| cell.text.is_empty())
        });
        for column in empty.chain(self.spare.iter().copied()) {
            let readable: usize = widths.iter().flatten().map(|w| READABLE.min(*w)).sum();
            if readable + gaps(widths) <= limit {
                return;
            }
            if let Some(width) = widths.get_mut(column) {
                *width = None;
            }
        }
    }
}

/// The room between the columns that are there.
fn gaps(widths: &[Option<usize>]) -> usize {
    GAP * widths.iter().flatten().count().saturating_sub(1)
}

/// Takes columns from the widest until all fit into `room`, leaving none below `least`.
fn shrink(widths: &mut [Option<usize>], room: usize, least: usize) {
    while widths.iter().flatten().sum::<usize>() > room {
        match widths.iter_mut().flatten().max_by_key(|width| **width) {
            Some(widest) if *widest > least => *widest -= 1,
            _ => return,
        }
    }
}

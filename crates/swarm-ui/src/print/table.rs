//! Tables for `status`, `task list` and similar commands.

use std::borrow::Cow;

use swarm_protocol::{Color, MemberState};

use crate::Theme;
use crate::sanitize::clean_line;
use crate::style::{Style, paint};
use crate::width::{columns, fit, fit_middle};

/// Number of spaces between two columns.
const GAP: usize = 2;

/// Minimum width of a truncated column while others can be truncated further.
const MIN_WIDTH: usize = 8;

/// Spare columns are omitted before another column becomes narrower than this.
const READABLE: usize = 16;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// Left-aligned.
    #[default]
    Left,
    /// Right-aligned, for numbers.
    Right,
}

/// A field of a table. Its text is always sanitized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    style: Option<Style>,
}

impl Cell {
    /// Creates a field without a style.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self {
            text: clean_line(text.as_ref()),
            style: None,
        }
    }

    /// Creates a field with a name in the colour of its agent.
    pub fn name(text: impl AsRef<str>, color: Option<Color>) -> Self {
        Self::new(text).styled(Style::Name(color))
    }

    /// Creates a field with words for the state of a member, in the style of that state.
    pub fn of_state(text: impl AsRef<str>, state: MemberState) -> Self {
        let cell = Self::new(text);
        match state {
            MemberState::WaitingPermission | MemberState::WaitingPlan => cell.attention(),
            MemberState::Dead | MemberState::Exhausted | MemberState::Failed => cell.bad(),
            MemberState::Working | MemberState::Background => cell.good(),
            MemberState::IdleUnreported
            | MemberState::Throttled
            | MemberState::OverBudget
            | MemberState::Paused
            | MemberState::Parked => cell.warn(),
            MemberState::Foreign | MemberState::Stopped | MemberState::Stopping => cell.dim(),
            MemberState::Starting | MemberState::Idle => cell,
        }
    }

    /// De-emphasizes the text.
    #[must_use]
    pub fn dim(self) -> Self {
        self.styled(Style::Dim)
    }

    /// Styles the text as a success.
    #[must_use]
    pub fn good(self) -> Self {
        self.styled(Style::Good)
    }

    /// Styles the text as a failure.
    #[must_use]
    pub fn bad(self) -> Self {
        self.styled(Style::Bad)
    }

    /// Styles the text as something that needs attention.
    #[must_use]
    pub fn warn(self) -> Self {
        self.styled(Style::Warn)
    }

    /// Styles the text as something that needs a person's answer.
    #[must_use]
    pub fn attention(self) -> Self {
        self.styled(Style::Attention)
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

/// Rows under headings, aligned by display width and truncated to the width of the theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
    /// Columns that may be omitted, in order.
    spare: Vec<usize>,
    /// The column that is never narrowed.
    whole: Option<usize>,
    /// Columns whose texts are truncated in the middle.
    middle: Vec<usize>,
}

impl Table {
    /// Creates a table with these left-aligned headings.
    pub fn new<T: AsRef<str>>(headings: impl IntoIterator<Item = T>) -> Self {
        let headings = headings
            .into_iter()
            .map(|heading| (clean_line(heading.as_ref()), Align::Left))
            .collect();
        Self {
            headings,
            rows: Vec::new(),
            spare: Vec::new(),
            whole: None,
            middle: Vec::new(),
        }
    }

    /// Allows these columns, counted from 0, to be omitted if the table is too wide, in this order.
    /// Empty columns are omitted first.
    #[must_use]
    pub fn spare(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.spare.extend(columns);
        self
    }

    /// Shows the texts of this column, counted from 0, in full even if the table is too wide:
    /// people copy them.
    #[must_use]
    pub fn whole(mut self, column: usize) -> Self {
        self.whole = Some(column);
        self
    }

    /// Truncates the texts of these columns, counted from 0, in the middle if the table is too wide:
    /// the end of a path tells more than its middle.
    #[must_use]
    pub fn middle(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.middle.extend(columns);
        self
    }

    /// Right-aligns these columns, counted from 0. A column that does not exist is ignored.
    #[must_use]
    pub fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        for column in columns {
            if let Some((_, align)) = self.headings.get_mut(column) {
                *align = Align::Right;
            }
        }
        self
    }

    /// Adds a row. Missing fields are empty; fields beyond the headings are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize_with(self.headings.len(), || Cell::new(""));
        self.rows.push(cells);
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Renders the table as terminated lines, headings first, without trailing spaces.
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
        let columns_of_row = row.iter().zip(widths).zip(&self.headings);
        for (column, ((cell, width), (_, align))) in columns_of_row.enumerate() {
            let Some(width) = *width else { continue };
            let mut text = Cow::Borrowed(cell.text.as_str());
            let mut taken = columns(&text);
            if taken > width {
                let is_cut_in_middle = self.middle.contains(&column);
                let fit = if is_cut_in_middle { fit_middle } else { fit };
                text = Cow::Owned(fit(&text, width));
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
            line.extend(std::iter::repeat_n(' ', blank + before));
            match cell.style.filter(|_| theme.color) {
                Some(style) => line.push_str(&paint(theme, style, &text)),
                None => line.push_str(&text),
            }
            blank = after + GAP;
        }
        line.push('\n');
    }

    /// Returns the width of each column: that of its longest text, or less if the table would not
    /// fit. `None` for an omitted column.
    fn widths(&self, limit: Option<usize>) -> Vec<Option<usize>> {
        let mut widths: Vec<Option<usize>> = (0..self.headings.len())
            .map(|column| Some(self.natural(column)))
            .collect();
        if let Some(limit) = limit {
            self.leave_out(&mut widths, limit);
            let room = limit.saturating_sub(gaps(&widths));
            let whole = self.whole.and_then(|column| widths.get_mut(column)?.take());
            let room = room.saturating_sub(whole.unwrap_or(0));
            shrink(&mut widths, room, MIN_WIDTH);
            shrink(&mut widths, room, 0);
            if let (Some(column), Some(width)) = (self.whole, whole) {
                widths[column] = Some(width);
            }
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

    /// Omits columns until the rest is readable, or no more may be omitted.
    fn leave_out(&self, widths: &mut [Option<usize>], limit: usize) {
        let empty = (0..widths.len()).filter(|column| {
            let mut texts = self.rows.iter().filter_map(|row| row.get(*column));
            !self.rows.is_empty() && texts.all(|cell| cell.text.is_empty())
        });
        for column in empty.chain(self.spare.iter().copied()) {
            let readable = |(column, width): (usize, &Option<usize>)| match *width {
                Some(width) if self.whole != Some(column) => READABLE.min(width),
                width => width.unwrap_or(0),
            };
            let readable: usize = widths.iter().enumerate().map(readable).sum();
            if readable + gaps(widths) <= limit {
                return;
            }
            if let Some(width) = widths.get_mut(column) {
                *width = None;
            }
        }
    }
}

/// Returns the total space between the remaining columns.
fn gaps(widths: &[Option<usize>]) -> usize {
    GAP * widths.iter().flatten().count().saturating_sub(1)
}

/// Narrows the widest columns until all fit into `room`, but none below `least`.
fn shrink(widths: &mut [Option<usize>], room: usize, least: usize) {
    while widths.iter().flatten().sum::<usize>() > room {
        match widths.iter_mut().flatten().max_by_key(|width| **width) {
            Some(widest) if *widest > least => *widest -= 1,
            _ => return,
        }
    }
}

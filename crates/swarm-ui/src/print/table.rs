//! Tables for `status`, `task list` and similar commands.

use std::borrow::Cow;
use std::iter::repeat_n;
use std::ops::Range;

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

/// A field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    /// Where its text is in [`Table::text`].
    at: Range<usize>,
    /// Display width of the text.
    width: usize,
    style: Option<Style>,
}

/// Rows under headings, aligned by display width and truncated to the width of the theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    aligns: Vec<Align>,
    /// The texts of all fields, one after another.
    text: String,
    /// The fields of the headings and of each row, as many as there are columns.
    fields: Vec<Field>,
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
        let headings = headings.into_iter().map(|heading| Cell::new(heading).dim());
        let headings: Vec<Cell> = headings.collect();
        let mut table = Self {
            aligns: vec![Align::Left; headings.len()],
            text: String::new(),
            fields: Vec::new(),
            spare: Vec::new(),
            whole: None,
            middle: Vec::new(),
        };
        table.row(headings);
        table
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
            if let Some(align) = self.aligns.get_mut(column) {
                *align = Align::Right;
            }
        }
        self
    }

    /// Adds a row. Missing fields are empty; fields beyond the headings are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let missing = std::iter::repeat_with(|| Cell::new(""));
        let cells = cells.into_iter().chain(missing);
        for cell in cells.take(self.aligns.len()) {
            let start = self.text.len();
            self.text.push_str(&cell.text);
            self.fields.push(Field {
                at: start..self.text.len(),
                width: columns(&cell.text),
                style: cell.style,
            });
        }
    }

    /// Returns whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.fields.len() <= self.aligns.len()
    }

    /// Renders the table as terminated lines, headings first, without trailing spaces.
    pub fn render(&self, theme: Theme) -> String {
        let widths = self.widths(theme.width);
        let mut lines = String::new();
        for row in self.rows() {
            self.line(&mut lines, row, &widths, theme);
        }
        lines
    }

    /// Returns the headings and the rows.
    fn rows(&self) -> impl Iterator<Item = &[Field]> {
        self.fields.chunks(self.aligns.len().max(1))
    }

    /// Returns the fields of a column, its heading first.
    fn column(&self, column: usize) -> impl Iterator<Item = &Field> {
        self.rows().filter_map(move |row| row.get(column))
    }

    fn line(&self, line: &mut String, row: &[Field], widths: &[Option<usize>], theme: Theme) {
        let mut blank = 0;
        let columns_of_row = row.iter().zip(widths).zip(&self.aligns);
        for (column, ((field, width), align)) in columns_of_row.enumerate() {
            let Some(width) = *width else { continue };
            let mut text = Cow::Borrowed(&self.text[field.at.clone()]);
            let mut taken = field.width;
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
            line.extend(repeat_n(' ', blank + before));
            match field.style.filter(|_| theme.color) {
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
        let mut widths: Vec<Option<usize>> = (0..self.aligns.len())
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
        let widths = self.column(column).map(|field| field.width);
        widths.max().unwrap_or(0)
    }

    /// Omits columns until the rest is readable, or no more may be omitted.
    fn leave_out(&self, widths: &mut [Option<usize>], limit: usize) {
        let empty = (0..widths.len()).filter(|column| {
            !self.is_empty() && (self.column(*column).skip(1)).all(|field| field.at.is_empty())
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

//! Views that cover the whole terminal, on its alternate screen.

use std::fmt::Write as _;

use super::input::{Key, PaneInput};
use super::styled::{PLAIN, REVERSE, cut};
use crate::sanitize::clean_line;
use crate::signs::WAITING;
use crate::theme::Theme;
use crate::width::{columns, fit};

/// Switches to the alternate screen and clears it.
pub(super) const ENTER: &str = "\u{1b}[?1049h\u{1b}[H\u{1b}[2J";
/// Returns to the normal screen as it was.
pub(super) const LEAVE: &str = "\u{1b}[?1049l";

/// Between two keys in the last row.
const KEY_GAP: &str = "  ";

/// Size of a view, without the last row, and how to draw in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) theme: Theme,
}

impl Area {
    /// Returns the style for this width.
    pub(crate) fn theme(self) -> Theme {
        self.theme.with_width(self.columns)
    }
}

/// What a view does after a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Stay,
    Close,
    Done(PaneInput),
}

/// A view that covers the terminal.
pub(crate) trait FullScreen: Send {
    /// Returns the rows of the view and the text of its last row.
    fn draw(&mut self, area: Area) -> (Vec<String>, LastRow);

    fn key(&mut self, key: &Key, area: Area) -> Step;

    /// Output was written meanwhile. Returns whether the view changed.
    fn output_arrived(&mut self, area: Area) -> bool;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LastRow {
    /// What is shown, and the keys.
    Status {
        /// The title and the position.
        left: String,
        /// The keys, two spaces apart, the most important one last.
        right: String,
    },
    /// Text that is being typed, after a prompt.
    Prompt(String),
}

/// A view and what the terminal shows of it.
pub(super) struct Cover {
    pub(super) view: Box<dyn FullScreen>,
    shown: Vec<String>,
}

impl Cover {
    pub(super) fn new(view: Box<dyn FullScreen>) -> Self {
        Self {
            view,
            shown: Vec::new(),
        }
    }

    /// Everything must be drawn again.
    pub(super) fn invalidate(&mut self) {
        self.shown.clear();
    }

    /// Returns the sequences that draw the rows that changed. `waiting` is a question that can be
    /// answered once the view is closed.
    pub(super) fn frame(&mut self, area: Area, waiting: Option<&str>) -> String {
        let (mut rows, last) = self.view.draw(area);
        rows.resize(area.rows, String::new());
        for row in &mut rows {
            *row = cut(row, area.columns);
        }
        let (last, cursor) = last_row(&last, area, waiting);
        rows.push(last);
        let mut frame = String::from("\u{1b}[?25l");
        for (at, row) in rows.iter().enumerate() {
            if self.shown.get(at) != Some(row) {
                // Writing into a String cannot fail.
                let _infallible = write!(frame, "\u{1b}[{};1H{row}\u{1b}[K", at + 1);
            }
        }
        self.shown = rows;
        match cursor {
            Some(column) => {
                let _infallible = write!(frame, "\u{1b}[{};{}H", area.rows + 1, column + 1);
            }
            // At the end of the last row, where it does not distract.
            None => {
                let _infallible = write!(frame, "\u{1b}[{};{}H", area.rows + 1, area.columns);
            }
        }
        frame.push_str("\u{1b}[?25h");
        frame
    }
}

/// Returns the last row and the column of the cursor in it, if there is something to type.
fn last_row(last: &LastRow, area: Area, waiting: Option<&str>) -> (String, Option<usize>) {
    // The last column stays free: the line of a cursor after it is undefined.
    let room = area.columns.saturating_sub(1);
    let (left, right) = match last {
        LastRow::Prompt(text) => {
            let text = clean_line(text);
            // The end of a long text is what is being typed.
            let mut shown = text.as_str();
            while columns(shown) > room {
                let first = shown.chars().next().map_or(0, char::len_utf8);
                shown = &shown[first..];
            }
            return (shown.to_owned(), Some(columns(shown)));
        }
        LastRow::Status { left, right } => (left, right),
    };
    let left = match waiting {
        Some(question) => format!("{WAITING} {question}"),
        None => left.clone(),
    };
    let left = clean_line(&left);
    // Keys make room for what is said, except the last one.
    let mut right = right.as_str();
    while columns(&left) + 1 + columns(right) > room
        && let Some((_, fewer)) = right.split_once(KEY_GAP)
    {
        right = fewer;
    }
    let right = fit(right, room);
    let left = fit(&left, room.saturating_sub(columns(&right) + 1));
    let gap = room.saturating_sub(columns(&left) + columns(&right));
    let row = format!("{left}{}{right}", " ".repeat(gap));
    (format!("{REVERSE}{row}{PLAIN}"), None)
}

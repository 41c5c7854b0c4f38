//! A dialog above the input line, answered with a single key.

use std::time::{Duration, Instant};

use super::styled::split;
use crate::print::wrapped;
use crate::sanitize::{clean_line, clean_text};
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::fit;

/// Prompt of the input line while a reason is typed.
pub(super) const REASON_PROMPT: &str = "reason > ";

/// The keys that end a reason.
pub(super) const REASON_KEYS: &str = "Enter: answer, also without a reason; Esc: back";

/// Maximum number of detail lines: the dialog leaves room for the output above it.
const MOST_DETAILS: usize = 8;

/// Maximum number of rows of the question.
const MOST_QUESTION: usize = 3;

/// Columns of the sign before the question, with its space.
const SIGN: usize = 2;

/// A question and the keys that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// Id that identifies the dialog in the answer.
    pub id: String,
    /// The question, in one line.
    pub question: String,
    /// Details, line by line.
    pub details: Vec<String>,
    /// The possible answers.
    pub choices: Vec<Choice>,
    /// Key of the choice that asks for a reason, which may be empty.
    pub reason: Option<char>,
}

/// An answer and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The key.
    pub key: char,
    /// Description of the answer.
    pub label: String,
}

impl Choice {
    fn line(&self) -> String {
        format!("  {}: {}", self.key, self.label)
    }
}

/// A dialog on the screen.
#[derive(Debug)]
pub(super) struct OpenDialog {
    pub(super) dialog: Dialog,
    /// Key of the choice whose reason is being typed.
    pub(super) explains: Option<char>,
    /// How long keys do not answer it after it appeared.
    unarmed: Duration,
    /// Keys typed before this time do not answer the dialog.
    armed_at: Instant,
}

impl OpenDialog {
    pub(super) fn new(dialog: Dialog, unarmed: Duration) -> Self {
        let armed_at = Instant::now() + unarmed;
        Self {
            dialog,
            explains: None,
            unarmed,
            armed_at,
        }
    }

    /// The dialog appears again.
    pub(super) fn arm(&mut self) {
        self.armed_at = Instant::now() + self.unarmed;
    }

    /// Returns the key of the choice that a typed text selects, if keys are accepted already.
    pub(super) fn chosen(&self, text: &str) -> Option<char> {
        let mut typed = text.chars();
        let (Some(key), None) = (typed.next(), typed.next()) else {
            return None;
        };
        let key = key.to_ascii_lowercase();
        let is_choice = self.dialog.choices.iter().any(|choice| choice.key == key);
        (is_choice && Instant::now() >= self.armed_at).then_some(key)
    }

    /// Returns how many of `details` rows are shown if the dialog may have `rows` rows of `room`
    /// columns.
    fn shown_details(&self, details: usize, room: usize, rows: usize) -> usize {
        let question = self.question(room).len().min(MOST_QUESTION);
        let most = rows.saturating_sub(question + self.choices(room).len());
        let most = most.min(MOST_DETAILS + 1);
        if details <= most {
            details
        } else {
            // One row says how many are left out.
            most.saturating_sub(1)
        }
    }

    /// Returns the question in rows of `room` columns, without its sign.
    fn question(&self, room: usize) -> Vec<String> {
        let question = clean_line(&self.dialog.question);
        broken(&question, room.saturating_sub(SIGN))
    }

    /// Returns the choices in rows of `room` columns: what a key allows may not be hidden.
    fn choices(&self, room: usize) -> Vec<String> {
        let choices = self.dialog.choices.iter();
        choices
            .flat_map(|choice| broken(&choice.line(), room))
            .collect()
    }

    /// Returns the lines for the screen, at most `rows` if the choices fit, each in one row of `room`
    /// columns.
    pub(super) fn lines(&self, theme: Theme, room: usize, rows: usize) -> Vec<String> {
        let signs = theme.signs();
        let line = |style, text: &str| paint(theme, style, &fit(text, room, signs.ellipsis));
        let question = self.question(room);
        let is_cut = question.len() > MOST_QUESTION;
        let shown = question.iter().take(MOST_QUESTION).enumerate();
        let question = shown.map(|(at, row)| {
            let sign = if at == 0 { signs.waiting } else { " " };
            let is_last = is_cut && at + 1 == MOST_QUESTION;
            let end = if is_last { signs.ellipsis } else { "" };
            line(Style::Attention, &format!("{sign} {row}{end}"))
        });
        let mut lines: Vec<_> = question.collect();
        let details = self.rows(room);
        let shown = self.shown_details(details.len(), room, rows);
        lines.extend(details.iter().take(shown).cloned());
        let left = details.len() - shown;
        if left > 0 {
            let more = format!("  {} +{left} lines (Tab)", signs.ellipsis);
            lines.push(line(Style::Dim, &more));
        }
        let choices = self.choices(room);
        lines.extend(choices.iter().map(|row| line(Style::Bold, row)));
        lines
    }

    /// Returns the details in rows of `room` columns: nothing of a call may be hidden at the end of
    /// a line.
    fn rows(&self, room: usize) -> Vec<String> {
        let details = self.dialog.details.iter();
        details.flat_map(|line| broken(line, room)).collect()
    }

    /// Returns whether a part is shown only in full.
    pub(super) fn is_cut(&self, room: usize, rows: usize) -> bool {
        let is_long = self.question(room).len() > MOST_QUESTION;
        let details = self.rows(room).len();
        is_long || details > self.shown_details(details, room, rows)
    }

    /// Returns the whole dialog as a text.
    pub(super) fn in_full(&self) -> String {
        let dialog = &self.dialog;
        let lines = std::iter::once(dialog.question.clone())
            .chain(dialog.details.iter().cloned())
            .chain(dialog.choices.iter().map(Choice::line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Breaks a line into rows of `room` columns.
fn broken(line: &str, room: usize) -> Vec<String> {
    let line = clean_text(line).replace(['\n', '\t'], " ");
    let rows = wrapped(&line, room).into_iter();
    rows.flat_map(|row| split(row, room)).collect()
}

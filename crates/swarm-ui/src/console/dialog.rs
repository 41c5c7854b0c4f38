//! A dialog above the input line, answered with a single key.

use std::time::{Duration, Instant};

use super::styled::split;
use crate::print::wrapped;
use crate::sanitize::{clean_line, clean_text};
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// Maximum number of detail lines: the dialog leaves room for the output above it.
const MOST_DETAILS: usize = 8;

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
}

/// An answer and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The key.
    pub key: char,
    /// Description of the answer.
    pub label: String,
}

/// A dialog on the screen.
#[derive(Debug)]
pub(super) struct OpenDialog {
    pub(super) dialog: Dialog,
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

    /// Returns the lines for the screen, each in one row of `room` columns, with their widths.
    pub(super) fn lines(&self, theme: Theme, room: usize) -> Vec<(String, usize)> {
        let ellipsis = theme.signs().ellipsis;
        let shown = |style: Option<Style>, text: &str| {
            let words = text.trim_start_matches(' ');
            let indent = &text[..text.len() - words.len()];
            let text = fit(&format!("{indent}{}", clean_line(words)), room, ellipsis);
            let width = columns(&text);
            let painted = style.map_or_else(|| text.clone(), |style| paint(theme, style, &text));
            (painted, width)
        };
        let dialog = &self.dialog;
        let question = format!("{} {} ", theme.signs().waiting, dialog.question);
        let mut lines = vec![shown(Some(Style::Attention), &question)];
        let details = self.rows(room);
        lines.extend(
            details
                .iter()
                .take(MOST_DETAILS)
                .map(|row| (row.clone(), columns(row))),
        );
        let left = details.len().saturating_sub(MOST_DETAILS);
        if left > 0 {
            let more = format!("  {ellipsis} +{left} lines (Tab)");
            lines.push(shown(Some(Style::Dim), &more));
        }
        let choices = dialog.choices.iter();
        lines.extend(choices.map(|choice| {
            shown(
                Some(Style::Bold),
                &format!("  {}: {}", choice.key, choice.label),
            )
        }));
        lines
    }

    /// Returns the details in rows of `room` columns: nothing of a call may be hidden at the end of
    /// a line.
    fn rows(&self, room: usize) -> Vec<String> {
        let details = self.dialog.details.iter();
        let lines = details.map(|line| clean_text(line).replace(['\n', '\t'], " "));
        lines
            .flat_map(|line| {
                let wrapped = wrapped(&line, room);
                let rows = wrapped.split('\n').map(str::to_owned);
                rows.flat_map(|row| split(row, room)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Returns whether a part is shown only in full.
    pub(super) fn is_cut(&self, room: usize) -> bool {
        self.rows(room).len() > MOST_DETAILS
    }

    /// Returns the whole dialog as a text.
    pub(super) fn in_full(&self) -> String {
        let dialog = &self.dialog;
        let choices = dialog
            .choices
            .iter()
            .map(|choice| format!("  {}: {}", choice.key, choice.label));
        let lines = std::iter::once(dialog.question.clone())
            .chain(dialog.details.iter().cloned())
            .chain(choices);
        lines.collect::<Vec<_>>().join("\n")
    }
}

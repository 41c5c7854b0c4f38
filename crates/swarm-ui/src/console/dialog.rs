//! A dialog above the input line, answered with a single key.

use std::time::{Duration, Instant};

use crate::sanitize::clean_line;
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
        let details = dialog.details.iter().take(MOST_DETAILS);
        lines.extend(details.map(|line| shown(None, line)));
        let left = dialog.details.len().saturating_sub(MOST_DETAILS);
        if left > 0 {
            let more = format!("  {ellipsis} {left} more lines: /requests shows them");
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
}

//! The dialog on the screen.

use std::time::{Duration, Instant};

use swarm_protocol::Color;

use super::dialog::{Choice, Dialog};
use super::form::Form;
use super::styled::in_rows;
use crate::sanitize::clean_line;
use crate::signs::WAITING;
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::fit;

/// Maximum number of detail lines: the dialog leaves room for the output above it.
const MOST_DETAILS: usize = 8;

/// Maximum number of rows of the question.
const MOST_QUESTION: usize = 3;

/// Columns of the sign before the question, with its space.
const SIGN: usize = 2;

#[derive(Debug)]
pub(super) struct OpenDialog {
    pub(super) dialog: Dialog,
    /// The questions, if there are any.
    pub(super) form: Option<Form>,
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
        let form = (!dialog.form.is_empty())
            .then(|| Form::new(dialog.form.clone(), dialog.choices.clone()));
        Self {
            dialog,
            form,
            explains: None,
            unarmed,
            armed_at,
        }
    }

    /// The dialog appears again.
    pub(super) fn arm(&mut self) {
        self.armed_at = Instant::now() + self.unarmed;
    }

    /// Returns whether keys are accepted already.
    pub(super) fn is_armed(&self) -> bool {
        Instant::now() >= self.armed_at
    }

    /// Returns the key of the choice that a typed text selects, if keys are accepted already.
    pub(super) fn chosen(&self, text: &str) -> Option<char> {
        let mut typed = text.chars();
        let (Some(key), None) = (typed.next(), typed.next()) else {
            return None;
        };
        let key = key.to_ascii_lowercase();
        let is_choice = self.dialog.choices.iter().any(|choice| choice.key == key);
        (is_choice && self.is_armed()).then_some(key)
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
        let mut question = clean_line(&self.dialog.question);
        question.extend(self.form.iter().map(Form::progress));
        in_rows(&question, room.saturating_sub(SIGN))
    }

    /// Returns the choices in rows of `room` columns: what a key allows may not be hidden.
    fn choices(&self, room: usize) -> Vec<String> {
        let choices = self.dialog.choices.iter();
        choices
            .flat_map(|choice| in_rows(&choice.line(), room))
            .collect()
    }

    /// Returns the lines for the screen, at most `rows` if the choices fit, each in one row of `room`
    /// columns.
    pub(super) fn lines(&self, theme: Theme, room: usize, rows: usize) -> Vec<String> {
        let line = |style, text: &str| paint(theme, style, &fit(text, room));
        let question = self.question(room);
        let is_cut = question.len() > MOST_QUESTION;
        let shown = question.iter().take(MOST_QUESTION).enumerate();
        let question = shown.map(|(at, row)| {
            let sign = if at == 0 { WAITING } else { " " };
            let is_last = is_cut && at + 1 == MOST_QUESTION;
            let end = if is_last { "…" } else { "" };
            let row = fit(&format!("{sign} {row}{end}"), room);
            match self.dialog.asker.as_ref().filter(|_| at == 0) {
                Some((name, color)) => with_badge(theme, &row, sign, name, *color),
                None => paint(theme, Style::Attention, &row),
            }
        });
        let mut lines: Vec<_> = question.collect();
        if let Some(form) = &self.form {
            let left = rows.saturating_sub(lines.len());
            lines.extend(form.lines(theme, room, left).0);
            return lines;
        }
        let details = self.rows(room);
        let shown = self.shown_details(details.len(), room, rows);
        lines.extend(details.iter().take(shown).cloned());
        let left = details.len() - shown;
        if left > 0 {
            let more = format!("  … +{left} lines (Tab)");
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
        details.flat_map(|line| in_rows(line, room)).collect()
    }

    /// Returns whether a part is shown only in full.
    pub(super) fn is_cut(&self, room: usize, rows: usize) -> bool {
        let question = self.question(room).len();
        let is_long = question > MOST_QUESTION;
        if let Some(form) = &self.form {
            let left = rows.saturating_sub(question.min(MOST_QUESTION));
            return is_long || form.lines(Theme::PLAIN, room, left).1;
        }
        let details = self.rows(room).len();
        is_long || details > self.shown_details(details, room, rows)
    }

    /// Returns the whole dialog as a text.
    pub(super) fn in_full(&self) -> String {
        let dialog = &self.dialog;
        let lines = std::iter::once(dialog.question.clone())
            .chain(dialog.details.iter().cloned())
            .chain(self.form.iter().flat_map(Form::in_full))
            .chain(dialog.choices.iter().map(Choice::line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Draws the first row of a question, in which a name follows the sign, in its agent's colour.
fn with_badge(theme: Theme, row: &str, sign: &str, name: &str, color: Option<Color>) -> String {
    let attention = |text: &str| paint(theme, Style::Attention, text);
    let named = row.strip_prefix(sign).and_then(|row| row.strip_prefix(' '));
    match named.and_then(|row| row.strip_prefix(name)) {
        Some(rest) => {
            let badge = paint(theme, Style::Badge(color), name);
            format!(
                "{}{badge}{}",
                attention(&format!("{sign} ")),
                attention(rest)
            )
        }
        None => attention(row),
    }
}

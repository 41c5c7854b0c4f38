//! The region below the output: dialog, status, notices and input line.

use std::fmt::Write as _;

use super::screen::{Inner, Painted};
use super::styled::plain_text;
use crate::sanitize::clean_line;
use crate::style::{Style, paint};
use crate::width::{columns, cut, fit};

/// Maximum number of displayed input rows.
const INPUT_ROWS: usize = 8;

impl Inner {
    /// Moves the cursor to the end of the output and clears everything below it.
    pub(super) fn erase(&mut self, frame: &mut String) {
        let Some(painted) = self.painted.take() else {
            return;
        };
        let width = self.columns();
        up(frame, painted.rows(width));
        frame.push_str("\r\u{1b}[J");
        if self.column > 0 {
            up(frame, 1);
            let within = match self.column % width {
                0 => width,
                within => within,
            };
            right(frame, within);
        }
    }

    pub(super) fn paint(&mut self, frame: &mut String) {
        let width = self.columns();
        if self.column > 0 {
            frame.push_str("\r\n");
        }
        // The last column stays free: the line of a cursor after it is undefined.
        let room = width.saturating_sub(1);
        let dialog = self.dialog.as_ref();
        let rows = self.rows_for_dialog();
        let dialog = dialog.map_or_else(Vec::new, |open| open.lines(self.theme, room, rows));
        let mut lines = self.panel_lines(room, dialog.len());
        lines.extend(dialog);
        lines.extend(self.around_line().into_iter().map(|text| {
            let text = fit(&clean_line(&text), room);
            paint(self.theme, Style::Dim, &text)
        }));
        for line in &lines {
            frame.push_str(line);
            frame.push_str("\r\n");
        }
        let prompt = match (self.explained(), &self.addressee) {
            (Some((prompt, _)), _) => prompt.to_owned(),
            (None, Some(addressee)) => format!("to {} (Esc: back) > ", addressee.name),
            (None, None) => self.prompt.clone(),
        };
        let prompt = cut(&prompt, room / 2);
        let indent = columns(&prompt);
        let shown = self
            .line
            .shown(room.saturating_sub(indent).max(1), INPUT_ROWS);
        let mut start = paint(self.theme, Style::Dim, &prompt);
        for row in &shown.rows {
            frame.push_str(&start);
            frame.push_str(row);
            start = format!("\r\n{}", " ".repeat(indent));
        }
        up(frame, shown.rows.len() - 1 - shown.row);
        let before = indent + shown.before;
        frame.push('\r');
        if before > 0 {
            right(frame, before);
        }
        let widths = lines.iter().map(|line| columns(&plain_text(line)));
        let mut above: Vec<usize> = widths.collect();
        let rows = shown.rows.iter().take(shown.row);
        above.extend(rows.map(|row| indent + columns(row)));
        self.painted = Some(Painted { above, before });
    }

    /// Returns the lines between the dialog and the input: status, queue, notices, search and
    /// completions.
    fn around_line(&self) -> Vec<String> {
        let mut lines = self.status.clone();
        lines.extend(self.queue_rows());
        if let Some(wanted) = self.line.searched() {
            lines.push(format!(
                "search: {wanted} (Ctrl-R: earlier, Enter: send, Esc: cancel)"
            ));
        }
        if let Some((words, at)) = self.line.completions() {
            let words = words.iter().enumerate().map(|(index, word)| {
                if index == at {
                    format!("[{word}]")
                } else {
                    word.clone()
                }
            });
            lines.push(
                words
                    .skip(at.saturating_sub(3))
                    .collect::<Vec<_>>()
                    .join(" "),
            );
        }
        if self.line.is_in_normal_mode() {
            lines.push("-- NORMAL --".to_owned());
        }
        lines.extend(self.commands());
        lines.extend(self.blocked_dialog());
        lines.extend(self.explained().map(|(_, keys)| keys.to_owned()));
        lines.extend(self.note.clone());
        lines
    }

    /// Returns the commands that begin with the typed word. Files and members are looked up only on
    /// Tab.
    fn commands(&self) -> Option<String> {
        let typed = self.line.to_complete()?;
        if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
            return None;
        }
        let (_, words) = self.complete.as_ref()?(typed);
        let names: Vec<_> = words.iter().map(|word| word.trim_end()).collect();
        (!names.is_empty()).then(|| format!("Tab: {}", names.join(" ")))
    }

    /// Returns why the keys of the dialog are typed into the input line.
    fn blocked_dialog(&self) -> Option<String> {
        let open = self.dialog.as_ref()?;
        let has_keys = !open.dialog.choices.is_empty() || open.form.is_some();
        (has_keys && !self.line.is_empty() && !self.is_explaining())
            .then(|| "clear the line (Ctrl-C) to answer with a key".to_owned())
    }
}

fn up(frame: &mut String, rows: usize) {
    if rows > 0 {
        let _infallible = write!(frame, "\u{1b}[{rows}A");
    }
}

fn right(frame: &mut String, columns: usize) {
    let _infallible = write!(frame, "\u{1b}[{columns}C");
}

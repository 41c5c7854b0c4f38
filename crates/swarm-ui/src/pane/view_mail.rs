//! Messages in the log of a pane.

use std::io::Write;

use swarm_protocol::{Color, MailText};

use crate::pane::log_canvas::INDENT;
use crate::pane::mail::{Direction, Mail};
use crate::pane::text_wrap::broken;
use crate::pane::view::PaneView;
use crate::print::wrapped;
use crate::sanitize::{clean_line, clean_text};
use crate::style::{Style, paint};
use crate::width::columns;

/// Maximum number of rows of a message below its first one.
const MAIL_ROWS: usize = 6;

/// Width of the text that introduces the sender of a message.
const SENDER_COLUMNS: usize = 8;

impl<W: Write> PaneView<W> {
    /// Draws a message as one line, truncated to the width.
    pub(super) fn mail(&mut self, way: Direction, name: &str, color: Option<Color>, words: &str) {
        let mail = Mail {
            way,
            name: &clean_line(name),
            color,
            words: &clean_line(words),
        };
        for line in mail.lines(self.theme()) {
            self.sheet.line(&line);
        }
    }

    /// Draws an incoming message. Of a long one, the first rows are shown with the command that
    /// shows the rest.
    pub(super) fn mail_in(
        &mut self,
        from: &str,
        color: Option<Color>,
        line: &str,
        more: Option<&MailText>,
    ) {
        let Some(MailText { text, command }) = more else {
            return self.mail(Direction::In, from, color, line);
        };
        let theme = self.theme();
        // A summary is placed next to the name; without one, the first line of the text.
        let (first, below) = text.split_once('\n').unwrap_or((text, ""));
        let begins = first.trim() == line.trim();
        let fits = columns(line) <= theme.room(columns(from) + 2 * SENDER_COLUMNS);
        let (words, rest) = match (begins, fits) {
            (true, true) => (line, below),
            (true, false) => ("", text.as_str()),
            (false, _) => (line, text.as_str()),
        };
        self.mail(Direction::In, from, color, words);
        let rest = clean_text(rest);
        let rows = broken(INDENT, theme.width, &rest);
        let rows: Vec<&str> = rows.lines().collect();
        // Replacing a single row by a mark saves nothing.
        let shown = if self.folds && rows.len() > MAIL_ROWS + 1 {
            MAIL_ROWS
        } else {
            rows.len()
        };
        for row in &rows[..shown] {
            self.sheet.line(row);
        }
        let left_out = rows.len() - shown;
        if left_out > 0 {
            self.more(&format!("+{left_out} lines"), command);
        }
    }

    /// Draws the number of omitted lines and the command that shows them. A narrow pane wraps it,
    /// because a truncated command is useless.
    fn more(&mut self, more: &str, command: &str) {
        let theme = self.theme();
        let [more, command] = [more, command].map(clean_line);
        let text = format!("… {more}: {command}");
        for line in wrapped(&text, theme.room(INDENT)) {
            let line = paint(theme, Style::Dim, line.trim_end());
            self.sheet.line(&format!("{}{line}", " ".repeat(INDENT)));
        }
    }
}

//! The scrolling log of a pane: whole lines, streaming text, and an optional open line at its end.

use std::io::Write;

use crate::pane::links::{Links, without_styles};
use crate::pane::markdown::Markdown;
use crate::pane::text_wrap::{TextWrap, broken};
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::columns;

/// Indentation of an agent's text, and of continuation lines after a sign.
pub(super) const INDENT: usize = 2;

/// Writes lines. Write errors are ignored: a terminal must not stop an agent.
pub(super) struct LogCanvas<W> {
    out: W,
    theme: Theme,
    flow: TextWrap,
    markdown: Markdown,
    /// Whether the cursor is after a line that [`LogCanvas::open_line`] wrote.
    open: bool,
    pieces: u64,
}

impl<W: Write> LogCanvas<W> {
    pub(super) fn new(out: W, theme: Theme) -> Self {
        let flow = TextWrap::new(INDENT, theme.width);
        Self {
            out,
            theme,
            flow,
            markdown: Markdown::new(theme.color),
            open: false,
            pieces: 0,
        }
    }

    /// Makes links of words.
    pub(super) fn link(&mut self, links: Links) {
        self.flow.link(links);
    }

    pub(super) fn theme(&self) -> Theme {
        self.theme
    }

    /// Sets the width for the following output.
    pub(super) fn resize(&mut self, width: Option<usize>) {
        self.theme.width = width;
        self.flow.resize(width);
    }

    /// Returns the number of pieces written so far: an equal number means that nothing was written
    /// in between.
    pub(super) fn pieces(&self) -> u64 {
        self.pieces
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Writes the next piece of streaming text, which must be sanitized.
    pub(super) fn text(&mut self, piece: &str) {
        let shown = self.markdown.push(piece, &mut self.flow);
        if !shown.is_empty() {
            self.close();
            self.put(&shown);
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.open_line(line);
        self.close();
    }

    /// Writes a line of the program: a sign, and sanitized text with hanging indentation.
    pub(super) fn signed(&mut self, sign: &str, style: Style, text: &str) {
        let laid_out = broken(INDENT, self.theme.width, text);
        let mut start = sign;
        for line in laid_out.lines() {
            let gap = " ".repeat(INDENT.saturating_sub(columns(start)));
            let line = format!("{start}{gap}{}", line.get(INDENT..).unwrap_or_default());
            self.line(&paint(self.theme, style, &line));
            start = "";
        }
    }

    /// Writes a line whose end follows later.
    pub(super) fn open_line(&mut self, line: &str) {
        self.close_line();
        let full = |width| columns(&without_styles(line)) + INDENT >= width;
        let linked = self.flow.links().map(|links| {
            let is_full = self.theme.width.is_some_and(full);
            links.in_line(line, is_full)
        });
        self.put(linked.as_deref().unwrap_or(line));
        self.open = true;
    }

    /// Writes the end of the open line.
    pub(super) fn finish_line(&mut self, end: &str) {
        self.put(end);
        self.close();
    }

    /// Terminates any open line.
    pub(super) fn close_line(&mut self) {
        self.close();
        let rest = self.markdown.end(&mut self.flow);
        self.put(&rest);
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.put("\n");
        }
    }

    fn put(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces += 1;
            self.out.write_all(text.as_bytes()).ok();
        }
    }

    /// Sends a sequence that does not change text or cursor.
    pub(super) fn control(&mut self, sequence: &str) {
        self.out.write_all(sequence.as_bytes()).ok();
        self.flush();
    }

    pub(super) fn flush(&mut self) {
        self.out.flush().ok();
    }
}

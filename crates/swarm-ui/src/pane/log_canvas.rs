//! The scrolling log that a pane is: whole lines, streaming text, and one line that may stay open at its end.

use std::io::Write;

use crate::pane::markdown::Markdown;
use crate::pane::text_wrap::{TextWrap, broken};
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::columns;

/// Columns before the text of an agent, and before the continuation of a line that begins with a sign.
pub(super) const INDENT: usize = 2;

/// Writes lines. A screen that cannot be written to is left alone: it must not stop an agent.
pub(super) struct LogCanvas<W> {
    out: W,
    theme: Theme,
    flow: TextWrap,
    markdown: Markdown,
    /// Whether the cursor stands behind a line that [`LogCanvas::open_line`] wrote.
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

    pub(super) fn theme(&self) -> Theme {
        self.theme
    }

    /// Draws for another width from here on.
    pub(super) fn resize(&mut self, width: Option<usize>) {
        self.theme.width = width;
        self.flow.resize(width);
    }

    /// How many pieces were written so far: the same number means that nothing came between.
    pub(super) fn pieces(&self) -> u64 {
        self.pieces
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Writes the next piece of streaming text, which must be clean.
    pub(super) fn text(&mut self, piece: &str) {
        let shown = self.markdown.push(piece, &mut self.flow);
        if !shown.is_empty() {
            self.close();
            self.put(&shown);
        }
    }

    /// Writes one whole line.
    pub(super) fn line(&mut self, line: &str) {
        self.settle();
        self.put(line);
        self.put("\n");
    }

    /// Writes a line of the program: a sign, and clean text that is broken to hang beside it.
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

    /// Writes a line whose end may still come.
    pub(super) fn open_line(&mut self, line: &str) {
        self.settle();
        self.put(line);
        self.open = true;
    }

    /// Writes the end of the open line.
    pub(super) fn finish_line(&mut self, end: &str) {
        self.put(end);
        self.close();
    }

    /// Ends whatever line is open.
    pub(super) fn settle(&mut self) {
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

    /// Sends the terminal something that leaves text and cursor as they are.
    pub(super) fn unseen(&mut self, sequence: &str) {
        self.out.write_all(sequence.as_bytes()).ok();
        self.flush();
    }

    pub(super) fn flush(&mut self) {
        self.out.flush().ok();
    }
}

//! Documents that a pager shows.

use crate::print::wrapped;
use crate::sanitize::clean_text;
use crate::theme::Theme;

/// Number of lines in a block of a text.
const LINES: usize = 64;

/// What a tab is replaced by.
const TAB: &str = "    ";

/// A document for a pager. It consists of blocks that are rendered when they are shown, so that a
/// large document opens immediately.
pub trait Document: Send {
    /// Returns the number of blocks.
    fn blocks(&self) -> usize;

    /// Returns the rows of a block, sanitized and without tabs. A block may have none. The pager
    /// splits rows that are wider than the theme's width.
    fn rows(&self, block: usize, theme: Theme) -> Vec<String>;

    /// Looks for blocks that were added at the end. Returns whether the document changed.
    fn refresh(&mut self) -> bool {
        false
    }
}

/// A text as a document.
#[derive(Debug, Clone)]
pub struct TextDocument {
    lines: Vec<String>,
}

impl TextDocument {
    /// Creates a document of a text.
    pub fn new(text: &str) -> Self {
        let text = clean_text(text.trim_end());
        let lines = text.lines().map(|line| line.replace('\t', TAB)).collect();
        Self { lines }
    }
}

impl Document for TextDocument {
    fn blocks(&self) -> usize {
        self.lines.len().div_ceil(LINES)
    }

    fn rows(&self, block: usize, theme: Theme) -> Vec<String> {
        let width = theme.width.unwrap_or(usize::MAX);
        let lines = self.lines.iter().skip(block * LINES).take(LINES);
        lines.flat_map(|line| wrapped(line, width)).collect()
    }
}

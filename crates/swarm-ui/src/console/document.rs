//! Documents that a pager shows.

use crate::difference::{StyledLine, painted, styled_lines};
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
    lines: Vec<StyledLine>,
}

impl TextDocument {
    /// Creates a document of a text.
    pub fn new(text: &str) -> Self {
        let text = clean_text(text.trim_end()).replace('\t', TAB);
        Self {
            lines: styled_lines(&text),
        }
    }
}

impl Document for TextDocument {
    fn blocks(&self) -> usize {
        self.lines.len().div_ceil(LINES)
    }

    fn rows(&self, block: usize, theme: Theme) -> Vec<String> {
        let width = theme.width.unwrap_or(usize::MAX);
        let lines = self.lines.iter().skip(block * LINES).take(LINES);
        let rows = lines.flat_map(|(style, line)| {
            let rows = wrapped(line, width).into_iter();
            rows.map(move |row| painted(theme, *style, row))
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_a_changed_line_has_its_colour() {
        let text = "diff --git a/x b/x\n@@ -1 +1 @@\n+one two three four five six seven\n same";
        let theme = Theme {
            color: true,
            ..Theme::PLAIN.with_width(24)
        };
        let rows = TextDocument::new(text).rows(0, theme);
        let added = rows.iter().filter(|row| row.starts_with("\u{1b}[32m"));
        assert_eq!(added.count(), 2, "{rows:?}");
        assert_eq!(rows.last().map(String::as_str), Some(" same"));
        let plain = TextDocument::new(text).rows(0, Theme::PLAIN);
        assert_eq!(plain, text.lines().collect::<Vec<_>>());
    }
}

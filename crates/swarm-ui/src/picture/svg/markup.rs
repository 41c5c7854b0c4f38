//! Small pieces of SVG.

use std::fmt::{self, Write as _};

/// A length in tenths of a pixel, which keeps sums exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tenths(pub(super) usize);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, tenth) = (self.0 / 10, self.0 % 10);
        match tenth {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{tenth}"),
        }
    }
}

/// A document under construction.
#[derive(Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Appends a piece, on a line of its own.
    pub(super) fn add(&mut self, piece: fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        self.0.write_fmt(piece).ok();
        self.0.push('\n');
    }

    /// What was built.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Text as XML content or attribute value. The two characters that XML 1.0 forbids outright are replaced; control
/// characters never come this far.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

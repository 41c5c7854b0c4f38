//! One character cell.

use unicode_width::UnicodeWidthChar;

/// A cell's colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hue {
    /// One of the terminal's 256 colours.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// How a cell is drawn, by the attributes of SGR.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each attribute is set and taken back alone"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ink {
    pub(super) foreground: Option<Hue>,
    pub(super) background: Option<Hue>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
    pub(super) reverse: bool,
}

/// A character with its ink.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cell {
    /// The character with what combines with it. Empty where nothing is drawn, and in the second half of a wide one.
    pub(super) text: String,
    pub(super) ink: Ink,
}

impl Cell {
    /// Cells that it takes, with those of its second half.
    pub(super) fn columns(&self) -> usize {
        self.text
            .chars()
            .next()
            .and_then(UnicodeWidthChar::width)
            .unwrap_or(1)
            .max(1)
    }

    pub(super) fn blank(ink: Ink) -> Self {
        Self {
            text: String::new(),
            ink,
        }
    }
}

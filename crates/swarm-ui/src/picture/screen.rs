//! The captured text of a pane as styled cells.

use std::num::NonZeroU16;

use anstyle::{Ansi256Color, Color, RgbColor, Style};

use crate::sanitize::shown;

const ESCAPE: char = '\u{1b}';

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cell {
    /// The character and its combining characters; empty in the second half of a wide one.
    pub(super) text: String,
    pub(super) style: Style,
}

impl Cell {
    pub(super) fn blank() -> Self {
        Self {
            text: " ".to_owned(),
            style: Style::new(),
        }
    }
}

/// Parses content with SGR sequences, as printed by `tmux capture-pane -ep`, into `rows` lines of
/// `columns` cells.
pub(super) fn cells(content: &str, columns: u16, rows: u16) -> Vec<Vec<Cell>> {
    let (Some(wide), Some(high)) = (NonZeroU16::new(columns), NonZeroU16::new(rows)) else {
        return Vec::new();
    };
    let mut terminal = vt100::Parser::new(high, wide, 0);
    for (row, line) in (1..=rows).zip(content.lines()) {
        terminal.process(format!("\u{1b}[{row};1H").as_bytes());
        let line: String = line.chars().filter_map(safe).collect();
        terminal.process(line.as_bytes());
    }
    let screen = terminal.screen();
    let line = |row| {
        (0..columns)
            .map(|column| cell(screen.cell(row, column)))
            .collect()
    };
    (0..rows).map(line).collect()
}

/// Filters input for the terminal emulator: escape sequences, which only affect the cells of the
/// pane, and displayable characters.
fn safe(c: char) -> Option<char> {
    if matches!(c, ESCAPE | '\t') {
        Some(c)
    } else if c.is_control() {
        None
    } else {
        shown(c)
    }
}

fn cell(found: Option<&vt100::Cell>) -> Cell {
    let Some(found) = found else {
        return Cell::blank();
    };
    let mut style = Style::new()
        .fg_color(color(found.fgcolor()))
        .bg_color(color(found.bgcolor()));
    for (on, with) in [
        (found.bold(), Style::bold as fn(Style) -> Style),
        (found.dim(), Style::dimmed),
        (found.italic(), Style::italic),
        (found.underline(), Style::underline),
        (found.inverse(), Style::invert),
    ] {
        if on {
            style = with(style);
        }
    }
    let text = if found.is_wide_continuation() {
        String::new()
    } else if found.has_contents() {
        found.contents().to_owned()
    } else {
        " ".to_owned()
    };
    Cell { text, style }
}

/// Returns a colour of the terminal's palette; the first sixteen are configurable.
pub(super) fn indexed(index: u8) -> Color {
    const BLUE: u8 = 4;
    const BRIGHT_BLUE: u8 = 12;
    // The blue of the pictures' palette is unreadable on its background.
    let color = Ansi256Color(if index == BLUE { BRIGHT_BLUE } else { index });
    color.into_ansi().map_or(color.into(), Color::from)
}

fn color(found: vt100::Color) -> Option<Color> {
    match found {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => Some(indexed(index)),
        vt100::Color::Rgb(red, green, blue) => Some(RgbColor(red, green, blue).into()),
    }
}

//! The captured text of a pane into cells.

use std::iter::Peekable;
use std::str::Chars;

use unicode_width::UnicodeWidthChar;

use crate::picture::cell::{Cell, Ink};
use crate::sanitize::shown;

/// Columns between tab stops.
const TAB: usize = 8;

/// Characters that one cell may hold: a base and what combines with it.
const COMBINED: usize = 8;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Reads at most `rows` lines of at most `columns` cells. What is neither text nor SGR is left out.
pub(super) fn cells(content: &str, columns: usize, rows: usize) -> Vec<Vec<Cell>> {
    let mut reader = Reader {
        columns,
        ink: Ink::default(),
        line_drawing: false,
    };
    content
        .lines()
        .take(rows)
        .map(|line| reader.line(line))
        .collect()
}

struct Reader {
    columns: usize,
    /// Lasts from line to line.
    ink: Ink,
    /// Between SO and SI letters stand for the lines of boxes.
    line_drawing: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Vec<Cell> {
        let mut cells = Vec::new();
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                ESCAPE => self.escape(&mut chars),
                '\u{9b}' => self.control_sequence(&mut chars),
                '\u{e}' => self.line_drawing = true,
                '\u{f}' => self.line_drawing = false,
                '\t' => {
                    let stop = (cells.len() / TAB + 1) * TAB;
                    cells.resize(
                        stop.min(self.columns).max(cells.len()),
                        Cell::blank(self.ink),
                    );
                }
                c if c.is_control() => {}
                c if self.line_drawing => self.put(line_of_letter(c), &mut cells),
                c => {
                    if let Some(c) = shown(c) {
                        self.put(c, &mut cells);
                    }
                }
            }
        }
        cells
    }

    fn put(&self, c: char, cells: &mut Vec<Cell>) {
        let width = c.width().unwrap_or(0);
        if width == 0 {
            let base = cells.iter_mut().rev().find(|cell| !cell.text.is_empty());
            if let Some(base) = base.filter(|base| base.text.chars().count() < COMBINED) {
                base.text.push(c);
            }
        } else if cells.len() + width <= self.columns {
            let text = if c == ' ' {
                String::new()
            } else {
                c.to_string()
            };
            cells.push(Cell {
                text,
                ink: self.ink,
            });
            cells.resize(cells.len() + width - 1, Cell::blank(self.ink));
        }
    }

    fn escape(&mut self, chars: &mut Peekable<Chars<'_>>) {
        match chars.next() {
            Some('[') => self.control_sequence(chars),
            // OSC, DCS, SOS, PM, APC: a string that ends with BEL or ESC \.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                while let Some(c) = chars.next() {
                    if c == BELL || (c == ESCAPE && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            // Choice of a character set: one more character.
            Some('(' | ')') => drop(chars.next()),
            _ => {}
        }
    }

    fn control_sequence(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let mut parameters = String::new();
        for c in chars.by_ref() {
            match c {
                '\u{20}'..='\u{3f}' => parameters.push(c),
                'm' => return self.ink.apply(&parameters),
                _ => return,
            }
        }
    }
}

/// The character that a letter stands for in the line drawing set of the VT100.
fn line_of_letter(letter: char) -> char {
    match letter {
        'j' => '┘',
        'k' => '┐',
        'l' => '┌',
        'm' => '└',
        'n' => '┼',
        'q' => '─',
        't' => '├',
        'u' => '┤',
        'v' => '┴',
        'w' => '┬',
        'x' => '│',
        '~' => '·',
        other => shown(other).unwrap_or(' '),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::cell::Hue;

    fn texts(line: &str, columns: usize) -> Vec<String> {
        cells(line, columns, 1)
            .remove(0)
            .into_iter()
            .map(|cell| cell.text)
            .collect()
    }

    #[test]
    fn wide_and_combining_characters_take_their_cells() {
        assert_eq!(texts("a日b", 9), ["a", "日", "", "b"]);
        assert_eq!(texts("e\u{301}x", 9), ["e\u{301}", "x"]);
        assert_eq!(texts("日\u{301}", 9), ["日\u{301}", ""]);
        assert_eq!(texts("ab日", 3), ["a", "b"]);
        assert_eq!(texts("a b", 9), ["a", "", "b"]);
        assert_eq!(texts("a\tb", 20).len(), 9);
        assert_eq!(texts("a\tb", 4).len(), 4);
    }

    #[test]
    fn colours_last_over_lines_and_other_sequences_vanish() {
        let content =
            "\u{1b}[31ma\u{1b}]8;;http://x\u{1b}\\b\u{1b}]0;t\u{7}\u{1b}(Bc\u{1b}[2J\nd\u{1b}[me";
        let lines = cells(content, 10, 10);
        let text: String = lines
            .iter()
            .flatten()
            .map(|cell| cell.text.as_str())
            .collect();
        assert_eq!(text, "abcde");
        assert_eq!(lines[1][0].ink.foreground, Some(Hue::Indexed(1)));
        assert_eq!(lines[1][1].ink.foreground, None);
    }

    #[test]
    fn the_letters_of_the_line_drawing_set_are_lines() {
        assert_eq!(texts("\u{e}lqk\u{f}q", 9), ["┌", "─", "┐", "q"]);
    }
}

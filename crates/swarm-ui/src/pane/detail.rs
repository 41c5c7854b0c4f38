//! Output or difference of a call below its line: folded to a few lines, or in full.

use swarm_protocol::{DetailLine, LineChange};

use crate::pane::log_canvas::INDENT;
use crate::sanitize::clean_text;
use crate::style::{Style, paint};
use crate::syntax::Syntax;
use crate::theme::Theme;
use crate::width::{columns, cut, fit};

/// Number of output lines shown when folded: the last ones, which contain the result.
const OUTPUT_LINES: usize = 5;

/// Number of lines of a difference shown when folded: the first ones.
const CHANGED_LINES: usize = 12;

/// The key that expands the last folded result.
const KEY: &str = "Ctrl-O";

/// Returns the lines below a call, and whether some were omitted. `syntax` is that of the changed
/// file.
pub(super) fn folded(
    theme: Theme,
    detail: &[DetailLine],
    syntax: Option<Syntax>,
) -> (Vec<String>, bool) {
    let is_difference = is_difference(detail);
    let most = if is_difference {
        CHANGED_LINES
    } else {
        OUTPUT_LINES
    };
    let left_out = detail.len().saturating_sub(most);
    // A line that reports one omitted line takes as much room as that line.
    if left_out <= 1 {
        return (lines(theme, detail, syntax), false);
    }
    let mark = format!("… +{left_out} lines ({KEY})");
    let mark = start(theme) + &paint(theme, Style::Dim, &mark);
    let mut shown;
    if is_difference {
        shown = lines(theme, &detail[..most], syntax);
        shown.push(mark);
    } else {
        shown = vec![mark];
        shown.extend(lines(theme, &detail[left_out..], syntax));
    }
    (shown, true)
}

/// Returns all lines, each in as many rows as needed.
pub(super) fn unfolded(theme: Theme, detail: &[DetailLine], syntax: Option<Syntax>) -> Vec<String> {
    let room = theme.width.map(|_| room(theme, detail).max(1));
    let mut rows = Vec::new();
    for line in detail {
        let mut rest = clean(&line.text);
        let mut part = line.clone();
        while let Some(limit) = room.filter(|limit| columns(&rest) > *limit) {
            let first = cut(&rest, limit);
            let cut = if first.is_empty() {
                rest.chars().next().map_or(0, char::len_utf8)
            } else {
                first.len()
            };
            rest[..cut].clone_into(&mut part.text);
            rest.drain(..cut);
            rows.push(part.clone());
            part.number = None;
        }
        part.text = rest;
        rows.push(part);
    }
    lines(theme, &rows, syntax)
}

fn lines(theme: Theme, detail: &[DetailLine], syntax: Option<Syntax>) -> Vec<String> {
    let width = number_width(detail);
    let drawn = detail.iter().map(|line| drawn(theme, width, line, syntax));
    drawn.collect()
}

/// Returns one line, truncated if too long.
fn drawn(theme: Theme, width: usize, line: &DetailLine, syntax: Option<Syntax>) -> String {
    let (style, sign) = match line.change {
        None => (Style::Dim, ' '),
        Some(LineChange::Added) => (Style::Good, '+'),
        Some(LineChange::Removed) => (Style::Bad, '-'),
    };
    let number = line.number.map_or_else(String::new, |n| n.to_string());
    let text = clean(&line.text);
    let text = if width == 0 {
        text
    } else {
        format!("{number:>width$} {sign} {text}")
    };
    let text = fit(text.trim_end(), theme.room(2 * INDENT));
    let syntax = syntax.filter(|_| line.change.is_some());
    let code_at = if width == 0 { 2 } else { width + 3 };
    let painted = match (syntax, text.split_at_checked(code_at)) {
        (Some(syntax), Some((sign, code))) => {
            paint(theme, style, sign) + &painted_code(theme, style, code, syntax)
        }
        _ => paint(theme, style, &text),
    };
    start(theme) + &painted
}

/// Returns code in its syntax colours, and otherwise in `style`. Each line stands alone: those of
/// both versions are mixed, and most of the file is missing.
fn painted_code(theme: Theme, style: Style, code: &str, mut syntax: Syntax) -> String {
    let parts = syntax.line(code).into_iter();
    parts
        .map(|(own, part)| paint(theme, own.unwrap_or(style), part))
        .collect()
}

fn start(theme: Theme) -> String {
    " ".repeat((2 * INDENT).min(theme.room(0)))
}

fn is_difference(detail: &[DetailLine]) -> bool {
    detail.iter().any(|line| line.number.is_some())
}

/// Returns the width of the line numbers; 0 if there are none.
fn number_width(detail: &[DetailLine]) -> usize {
    let largest = detail.iter().filter_map(|line| line.number).max();
    largest.map_or(0, |number| number.to_string().len())
}

/// Returns the remaining columns for the text of a line.
fn room(theme: Theme, detail: &[DetailLine]) -> usize {
    let numbers = match number_width(detail) {
        0 => 0,
        width => width + 3,
    };
    theme.room(2 * INDENT + numbers)
}

/// Returns the text in one row with its indentation.
fn clean(text: &str) -> String {
    clean_text(text).replace('\t', "    ").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEME: Theme = Theme {
        color: false,
        width: Some(24),
    };

    fn output(count: usize) -> Vec<DetailLine> {
        (1..=count)
            .map(|line| DetailLine::output(format!("line {line}")))
            .collect()
    }

    #[test]
    fn the_end_of_an_output_is_shown_and_the_rest_is_counted() {
        let (lines, is_cut) = folded(THEME, &output(30), None);
        assert!(is_cut);
        assert_eq!(lines[0], "    … +25 lines (Ctrl-O)");
        assert_eq!(
            lines[1..],
            [26, 27, 28, 29, 30].map(|n| format!("    line {n}"))
        );
        let (lines, is_cut) = folded(THEME, &output(6), None);
        assert_eq!((lines.len(), is_cut), (6, false));
    }

    #[test]
    fn changed_lines_have_syntax_colours_and_others_do_not() {
        let theme = Theme {
            color: true,
            ..THEME
        };
        let line = |number, change| DetailLine {
            number,
            change,
            text: "let a = 1;".to_owned(),
        };
        let syntax = Syntax::of_file_in("Edit src/a.rs");
        let added = line(Some(7), Some(LineChange::Added));
        let (lines, _) = folded(theme, &[line(Some(6), None), added], syntax);
        assert_eq!(
            lines,
            [
                "    \u{1b}[2m6   let a = 1;\u{1b}[0m",
                "    \u{1b}[32m7 + \u{1b}[0m\u{1b}[35mlet\u{1b}[0m\u{1b}[32m a = \u{1b}[0m\u{1b}[36m1\u{1b}[0m\u{1b}[32m;\u{1b}[0m",
            ]
        );
        let mut written = line(None, Some(LineChange::Removed));
        written.text = "- if".to_owned();
        assert_eq!(
            unfolded(theme, &[written], syntax),
            ["    \u{1b}[31m- \u{1b}[0m\u{1b}[35mif\u{1b}[0m"]
        );
    }

    #[test]
    fn a_difference_shows_its_first_lines_with_numbers_and_signs() {
        let changed = |number, change, text: &str| DetailLine {
            number: Some(number),
            change,
            text: text.to_owned(),
        };
        let lines = [
            changed(9, None, "fn a() {"),
            changed(10, Some(LineChange::Removed), "\told"),
            changed(10, Some(LineChange::Added), "\tnew, and far too long"),
        ];
        assert_eq!(
            folded(THEME, &lines, None).0,
            [
                "     9   fn a() {",
                "    10 -     old",
                "    10 +     new, and f…"
            ]
        );
        assert_eq!(
            unfolded(THEME, &lines, Syntax::of_file_in("Edit a.rs"))[2..],
            ["    10 +     new, and fa", "       + r too long"]
        );
        let many: Vec<_> = (1..=20)
            .map(|n| changed(n, Some(LineChange::Added), "x"))
            .collect();
        let (lines, _) = folded(THEME, &many, None);
        assert_eq!(lines.len(), 13);
        assert_eq!(lines[12], "    … +8 lines (Ctrl-O)");
    }
}

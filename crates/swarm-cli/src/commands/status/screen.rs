//! A terminal screen that is redrawn.

use std::io::{self, IsTerminal as _};

use swarm_ui::Theme;
use swarm_ui::print::counted;

use crate::failure::Result;
use crate::output::{Output, terminal_height};

/// Moves the cursor to the upper left corner.
const HOME: &str = "\u{1b}[H";
/// Clears from the cursor to the end of the line.
const CLEAR_LINE: &str = "\u{1b}[K";
/// Clears below the cursor.
const CLEAR_BELOW: &str = "\u{1b}[J";

/// Returns whether there is a terminal to draw on.
pub(super) fn is_there() -> bool {
    io::stdout().is_terminal()
}

/// Scrolls the current content into the scrollback.
pub(super) fn make_room(out: Output) -> Result<()> {
    out.piece(&"\n".repeat(terminal_height(io::stdout()).unwrap_or_default()))
}

/// Replaces the displayed text in one write, to avoid flicker.
pub(super) fn draw(out: Output, theme: Theme, text: &str) -> Result<()> {
    out.piece(&frame(text, &way_out(theme), terminal_height(io::stdout())))
}

/// Hint how to exit, for the last line.
fn way_out(theme: Theme) -> String {
    const LINE: &str = "Ctrl-C leaves";
    if theme.width.is_some_and(|width| width <= LINE.len()) {
        String::new()
    } else if theme.color {
        format!("\u{1b}[2m{LINE}\u{1b}[0m")
    } else {
        LINE.to_owned()
    }
}

/// Returns the text to draw, cut to the height of the terminal so that it does not scroll. The last
/// line has no newline.
fn frame(text: &str, last: &str, height: Option<usize>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = height.map_or(lines.len(), |height| height.saturating_sub(1).max(1));
    let kept = if lines.len() > room {
        room - 1
    } else {
        lines.len()
    };
    let mut frame = HOME.to_owned();
    for line in &lines[..kept] {
        frame += line;
        frame += CLEAR_LINE;
        frame.push('\n');
    }
    if kept < lines.len() {
        let left = lines.len() - kept;
        frame += "… ";
        frame += &counted(left as u64, "more line");
        frame += CLEAR_LINE;
        frame.push('\n');
    }
    frame + last + CLEAR_BELOW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_hint_is_the_last_line_without_newline() {
        let plain = Theme::PLAIN;
        let way = way_out(plain);
        assert_eq!(way, "Ctrl-C leaves");
        assert_eq!(
            frame("1\n2\n3\n", &way, Some(3)),
            "\u{1b}[H1\u{1b}[K\n… 2 more lines\u{1b}[K\nCtrl-C leaves\u{1b}[J"
        );
        let color = Theme {
            color: true,
            ..plain
        };
        assert_eq!(way_out(color), "\u{1b}[2mCtrl-C leaves\u{1b}[0m");
        let narrow = Theme {
            width: Some(13),
            ..plain
        };
        assert_eq!(way_out(narrow), "");
    }

    #[test]
    fn frame_fits_the_height_and_counts_omitted_lines() {
        let text = "1\n2\n3\n4\n";
        assert_eq!(
            frame(text, "", None),
            "\u{1b}[H1\u{1b}[K\n2\u{1b}[K\n3\u{1b}[K\n4\u{1b}[K\n\u{1b}[J"
        );
        assert_eq!(
            frame(text, "", Some(4)),
            "\u{1b}[H1\u{1b}[K\n2\u{1b}[K\n… 2 more lines\u{1b}[K\n\u{1b}[J"
        );
        assert_eq!(frame(text, "", Some(5)), frame(text, "", None));
        assert_eq!(
            frame(text, "", Some(1)),
            "\u{1b}[H… 4 more lines\u{1b}[K\n\u{1b}[J"
        );
    }
}

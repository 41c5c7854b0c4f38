//! Lines for incoming and outgoing messages.

use swarm_protocol::{Color, SYSTEM_SENDER};

use crate::pane::log_canvas::INDENT;
use crate::signs::{MAIL_IN, MAIL_OUT};
use crate::style::{Style, paint, tinted};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// Minimum width for the text of a message next to the name; otherwise it is placed below.
const MIN_WIDTH: usize = 12;

/// Prefix of the line of an idle notification.
const IDLE: &str = "idle";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

/// A message with sanitized texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mail<'a> {
    pub(super) way: Direction,
    /// Name of the sender or recipient.
    pub(super) name: &'a str,
    pub(super) color: Option<Color>,
    pub(super) words: &'a str,
}

impl Mail<'_> {
    /// Returns one line, or two if the name leaves no room for the text.
    pub(super) fn lines(self, theme: Theme) -> Vec<String> {
        let (sign, way) = match self.way {
            Direction::In => (MAIL_IN, "from"),
            Direction::Out => (MAIL_OUT, "to"),
        };
        let (note, words) = self.note();
        let around = columns(sign) + columns(way) + columns(note) + "  :".len();
        let name = fit(self.name, theme.room(around));
        let end = if words.is_empty() { "" } else { ":" };
        let taken = around + columns(&name) + 1;
        let beside = columns(words).min(MIN_WIDTH) <= theme.room(taken);
        let room = theme.room(if beside { taken } else { INDENT });
        let words = fit(words, room);
        // Messages from the program must not look like messages from a peer.
        let by_program = self.way == Direction::In && self.name == SYSTEM_SENDER;
        let head = if by_program {
            format!("{sign} {way} {name}{note}{end}")
        } else {
            let name = paint(theme, Style::Name(self.color), &name);
            format!(
                "{} {way} {name}{note}{end}",
                tinted(theme, self.color, sign)
            )
        };
        let mut lines = if beside {
            vec![format!("{head} {words}").trim_end().to_owned()]
        } else {
            vec![head, format!("{}{words}", " ".repeat(INDENT))]
        };
        if by_program {
            for line in &mut lines {
                *line = paint(theme, Style::Dim, line);
            }
        }
        lines
    }

    /// Splits the text into a note about the sender and its words.
    fn note(&self) -> (&'static str, &str) {
        match self.words.strip_prefix(IDLE) {
            Some("") if self.way == Direction::In => (" (idle)", ""),
            Some(rest) if self.way == Direction::In && rest.starts_with(": ") => {
                (" (idle)", &rest[2..])
            }
            _ => ("", self.words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(way: Direction, name: &str, words: &str, width: usize) -> Vec<String> {
        let theme = Theme::PLAIN.with_width(width);
        let mail = Mail {
            way,
            name,
            color: None,
            words,
        };
        mail.lines(theme)
    }

    #[test]
    fn a_message_is_truncated_to_one_line() {
        assert_eq!(
            lines(Direction::Out, "tester", "solved, please prove it", 30),
            ["▶ to tester: solved, please p…"]
        );
        assert_eq!(lines(Direction::In, "tester", "", 30), ["◀ from tester"]);
    }

    #[test]
    fn text_without_room_next_to_the_name_is_placed_below_it() {
        assert_eq!(
            lines(Direction::In, "implementer", "solved, please prove it", 24),
            ["◀ from implementer:", "  solved, please prove…"]
        );
    }

    #[test]
    fn an_idle_notification_is_marked_next_to_the_name() {
        for (words, shown) in [
            ("idle: All done.", "◀ from tester (idle): All done."),
            ("idle", "◀ from tester (idle)"),
            ("idleness: bad", "◀ from tester: idleness: bad"),
        ] {
            assert_eq!(lines(Direction::In, "tester", words, 60), [shown]);
        }
        assert_eq!(
            lines(Direction::Out, "tester", "idle: no", 60),
            ["▶ to tester: idle: no"]
        );
    }

    #[test]
    fn messages_from_the_program_have_no_colour() {
        let theme = Theme {
            color: true,
            ..Theme::PLAIN
        };
        let mail = Mail {
            way: Direction::In,
            name: SYSTEM_SENDER,
            color: Some(Color::Red),
            words: "task #2: Solve it",
        };
        assert_eq!(
            mail.lines(theme),
            ["\u{1b}[2m◀ from system: task #2: Solve it\u{1b}[0m"]
        );
    }
}

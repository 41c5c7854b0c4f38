//! Mail that comes in or goes out, as lines.

use swarm_protocol::{Color, SYSTEM_SENDER};

use crate::pane::log_canvas::INDENT;
use crate::style::{Style, paint, tinted};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// Columns that the words of a message get beside the name; with fewer they stand below it.
const FEWEST: usize = 12;

/// How the line of an idle notice begins.
const IDLE: &str = "idle";

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
}

/// A message; its texts are clean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mail<'a> {
    pub(super) way: Way,
    /// The other end.
    pub(super) name: &'a str,
    pub(super) color: Option<Color>,
    pub(super) words: &'a str,
}

impl Mail<'_> {
    /// One line, or two where the name leaves no room for words.
    pub(super) fn lines(self, theme: Theme) -> Vec<String> {
        let signs = theme.signs();
        let (sign, way) = match self.way {
            Way::In => (signs.mail_in, "from"),
            Way::Out => (signs.mail_out, "to"),
        };
        let (note, words) = self.note();
        let around = columns(sign) + columns(way) + columns(note) + "  :".len();
        let name = fit(self.name, theme.room(around), signs.ellipsis);
        let end = if words.is_empty() { "" } else { ":" };
        let taken = around + columns(&name) + 1;
        let beside = columns(words).min(FEWEST) <= theme.room(taken);
        let room = theme.room(if beside { taken } else { INDENT });
        let words = fit(words, room, signs.ellipsis);
        // What the program says itself is not to be taken for the word of a peer.
        let by_program = self.way == Way::In && self.name == SYSTEM_SENDER;
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

    /// What is said about the sender, and what the sender says.
    fn note(&self) -> (&'static str, &str) {
        match self.words.strip_prefix(IDLE) {
            Some("") if self.way == Way::In => (" (idle)", ""),
            Some(rest) if self.way == Way::In && rest.starts_with(": ") => (" (idle)", &rest[2..]),
            _ => ("", self.words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(way: Way, name: &str, words: &str, width: usize) -> Vec<String> {
        let theme = Theme {
            width: Some(width),
            ..Theme::PLAIN
        };
        let mail = Mail {
            way,
            name,
            color: None,
            words,
        };
        mail.lines(theme)
    }

    #[test]
    fn mail_is_cut_to_one_line() {
        assert_eq!(
            lines(Way::Out, "tester", "mended, please prove it", 30),
            ["▶ to tester: mended, please p…"]
        );
        assert_eq!(lines(Way::In, "tester", "", 30), ["◀ from tester"]);
    }

    #[test]
    fn words_without_room_beside_the_name_stand_below_it() {
        assert_eq!(
            lines(Way::In, "implementer", "mended, please prove it", 24),
            ["◀ from implementer:", "  mended, please prove…"]
        );
    }

    #[test]
    fn an_idle_notice_says_so_beside_the_name() {
        for (words, shown) in [
            ("idle: All done.", "◀ from tester (idle): All done."),
            ("idle", "◀ from tester (idle)"),
            ("idleness: bad", "◀ from tester: idleness: bad"),
        ] {
            assert_eq!(lines(Way::In, "tester", words, 60), [shown]);
        }
        assert_eq!(
            lines(Way::Out, "tester", "idle: no", 60),
            ["▶ to tester: idle: no"]
        );
    }

    #[test]
    fn the_program_speaks_in_no_colour() {
        let theme = Theme {
            color: true,
            ..Theme::PLAIN
        };
        let mail = Mail {
            way: Way::In,
            name: SYSTEM_SENDER,
            color: Some(Color::Red),
            words: "task #2: Mend it",
        };
        assert_eq!(
            mail.lines(theme),
            ["\u{1b}[2m◀ from system: task #2: Mend it\u{1b}[0m"]
        );
    }
}

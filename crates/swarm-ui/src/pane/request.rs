//! That a person is needed: the detail of a waiting state, and the lines that it makes.

use swarm_protocol::RequestId;

use crate::pane::log_canvas::INDENT;
use crate::pane::text_wrap::broken;
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::columns;

/// A detail of the form `ID: what is asked`, taken apart. Either half may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestLine<'a> {
    pub(super) id: &'a str,
    pub(super) what: &'a str,
}

/// How the ids of requests begin (`docs/formats.md`).
const KINDS: [&str; 3] = ["perm-", "plan_approval-", "sandbox-"];

impl<'a> RequestLine<'a> {
    pub(super) fn parse(detail: &'a str) -> Self {
        let detail = detail.trim();
        let (first, rest) = detail.split_once(' ').unwrap_or((detail, ""));
        let id = first.trim_end_matches(':');
        let number = id.strip_prefix('p').unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if (is_number && first.ends_with(':')) || KINDS.iter().any(|kind| id.starts_with(kind)) {
            Self {
                id,
                what: rest.trim(),
            }
        } else {
            Self {
                id: "",
                what: detail,
            }
        }
    }
}

/// The tool that asks a person something; a mere yes does not answer it.
const QUESTION: &str = "AskUserQuestion ";

/// Lists everything that waits for an answer, with the commands that answer it.
const LIST: &str = "swarm requests";

impl RequestLine<'_> {
    /// That a person is needed, for what, and the commands with which that person answers. What is asked is never cut.
    pub(super) fn lines(self, theme: Theme) -> Vec<String> {
        let head = format!("{} needs an answer", theme.signs().waiting);
        let head = if theme.color {
            format!(" {head} ")
        } else {
            head + ":"
        };
        let beside = columns(&head) + 1 + columns(self.what) <= theme.room(0);
        let head = paint(theme, Style::Loud, &head);
        let mut lines = Vec::new();
        if beside {
            lines.push(format!("{head} {}", self.what).trim_end().to_owned());
        } else {
            lines.push(head);
            let what = broken(INDENT, theme.width, self.what);
            lines.extend(what.lines().map(str::to_owned));
        }
        lines.extend(self.commands(theme));
        lines
    }

    /// The commands are there to be copied, so they are neither broken nor cut: a pane too narrow for them names the
    /// one that lists them.
    fn commands(self, theme: Theme) -> Vec<String> {
        let longest = |commands: &[String]| commands.iter().map(|one| columns(one)).max();
        let id = RequestId::new(self.id);
        let mut commands = ["approve", "deny"]
            .map(|verb| format!("swarm {verb} {}", id.short()))
            .to_vec();
        // Its options stand in the list, and the answer is words.
        if self.what.starts_with(QUESTION) {
            commands[0] = format!("{LIST}   (then approve with --answer)");
        }
        if self.id.is_empty() || longest(&commands) > Some(theme.room(0)) {
            commands = vec![LIST.to_owned()];
        }
        let indent = (2 * INDENT).min(theme.room(longest(&commands).unwrap_or_default()));
        let line = |command: String| {
            let command = paint(theme, Style::Bold, &command);
            format!("{}{command}", " ".repeat(indent))
        };
        commands.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(width: usize) -> Vec<String> {
        let theme = Theme {
            width: Some(width),
            ..Theme::PLAIN
        };
        let asked = "perm-1795195848228-r6huwgp: Bash cargo publish --dry-run";
        RequestLine::parse(asked).lines(theme)
    }

    #[test]
    fn a_number_is_an_id_and_a_word_is_none() {
        let parsed = RequestLine::parse("p3: Bash make");
        assert_eq!((parsed.id, parsed.what), ("p3", "Bash make"));
        for what in ["p: x", "p3 x", "px: y"] {
            assert_eq!(RequestLine::parse(what).id, "", "{what}");
        }
    }

    #[test]
    fn a_question_leads_to_where_its_options_are_shown() {
        let asked = "perm-1795195848228-r6huwgp: AskUserQuestion Which one?";
        let lines = RequestLine::parse(asked).lines(Theme {
            width: Some(80),
            ..Theme::PLAIN
        });
        assert_eq!(
            lines[1],
            "    swarm requests   (then approve with --answer)"
        );
        assert_eq!(lines[2], "    swarm deny r6huwgp");
    }

    #[test]
    fn the_commands_that_answer_are_whole_or_not_there() {
        assert_eq!(
            lines(60),
            [
                "▲ needs an answer: Bash cargo publish --dry-run",
                "    swarm approve r6huwgp",
                "    swarm deny r6huwgp",
            ]
        );
        assert_eq!(
            lines(22),
            [
                "▲ needs an answer:",
                "  Bash cargo publish",
                "  --dry-run",
                " swarm approve r6huwgp",
                " swarm deny r6huwgp",
            ]
        );
        assert_eq!(
            lines(20),
            [
                "▲ needs an answer:",
                "  Bash cargo publish",
                "  --dry-run",
                "    swarm requests",
            ]
        );
    }
}

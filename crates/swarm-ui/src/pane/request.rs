//! Lines that tell a person to answer a request.

use swarm_protocol::{RequestId, TeamName};

use crate::pane::log_canvas::INDENT;
use crate::pane::text_wrap::broken;
use crate::signs::WAITING;
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::columns;

/// A detail of the form `ID: what is requested`, parsed. Either part may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestLine<'a> {
    pub(super) id: &'a str,
    pub(super) what: &'a str,
}

/// Prefixes of request ids (`docs/formats.md`).
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

/// The tool that asks a person a question; approval alone does not answer it.
const QUESTION: &str = "AskUserQuestion ";

/// The command that lists the pending requests of all teams.
const LIST: &str = "swarm requests --all";

impl RequestLine<'_> {
    /// Returns the lines that show the request and the commands that answer it in `team`. The request
    /// is never truncated.
    pub(super) fn lines(self, team: Option<&TeamName>, theme: Theme) -> Vec<String> {
        let head = format!("{WAITING} needs an answer");
        let head = if theme.color {
            format!(" {head} ")
        } else {
            head + ":"
        };
        let beside = columns(&head) + 1 + columns(self.what) <= theme.room(0);
        let head = paint(theme, Style::Attention, &head);
        let mut lines = Vec::new();
        if beside {
            lines.push(format!("{head} {}", self.what).trim_end().to_owned());
        } else {
            lines.push(head);
            let what = broken(INDENT, theme.width, self.what);
            lines.extend(what.lines().map(str::to_owned));
        }
        lines.extend(self.commands(team, theme));
        lines
    }

    /// The commands must be suitable for copying, so they are neither wrapped nor truncated: a pane
    /// that is too narrow shows the command that lists requests.
    fn commands(self, team: Option<&TeamName>, theme: Theme) -> Vec<String> {
        let longest = |commands: &[String]| commands.iter().map(|one| columns(one)).max();
        let id = RequestId::new(self.id);
        // Elsewhere, the default is the newest team.
        let team = team.map(|team| format!(" --team {team}"));
        let team = team.unwrap_or_default();
        let mut commands = ["approve", "deny"]
            .map(|verb| format!("swarm {verb} {}{team}", id.short()))
            .to_vec();
        // The list contains its options, and the answer is a text.
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

    fn team() -> TeamName {
        TeamName::parse("web").unwrap()
    }

    fn lines(width: usize) -> Vec<String> {
        let theme = Theme::PLAIN.with_width(width);
        let asked = "perm-1795195848228-r6huwgp: Bash cargo publish --dry-run";
        RequestLine::parse(asked).lines(Some(&team()), theme)
    }

    #[test]
    fn a_number_is_an_id_and_a_word_is_not() {
        let parsed = RequestLine::parse("p3: Bash make");
        assert_eq!((parsed.id, parsed.what), ("p3", "Bash make"));
        for what in ["p: x", "p3 x", "px: y"] {
            assert_eq!(RequestLine::parse(what).id, "", "{what}");
        }
    }

    #[test]
    fn a_question_refers_to_the_list_with_its_options() {
        let asked = "perm-1795195848228-r6huwgp: AskUserQuestion Which one?";
        let lines = RequestLine::parse(asked).lines(Some(&team()), Theme::PLAIN.with_width(80));
        assert_eq!(
            lines[1],
            "    swarm requests --all   (then approve with --answer)"
        );
        assert_eq!(lines[2], "    swarm deny r6huwgp --team web");
    }

    #[test]
    fn the_answer_commands_are_complete_or_omitted() {
        assert_eq!(
            lines(60),
            [
                "▲ needs an answer: Bash cargo publish --dry-run",
                "    swarm approve r6huwgp --team web",
                "    swarm deny r6huwgp --team web",
            ]
        );
        assert_eq!(
            lines(33),
            [
                "▲ needs an answer:",
                "  Bash cargo publish --dry-run",
                " swarm approve r6huwgp --team web",
                " swarm deny r6huwgp --team web",
            ]
        );
        assert_eq!(
            lines(22),
            [
                "▲ needs an answer:",
                "  Bash cargo publish",
                "  --dry-run",
                "  swarm requests --all",
            ]
        );
    }
}

//! Running tool calls and their lines.

use swarm_protocol::Color;

use crate::pane::log_canvas::INDENT;
use crate::style::{Style, paint, tinted};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// The tool whose calls are shown as outgoing messages. Its own line is drawn only if the call sent
/// no message.
const MAIL_TOOL: &str = "SendMessage";

/// Tools whose lines contain only a file name.
const FILE_TOOLS: [&str; 3] = ["Read", "Write", "Edit"];

/// Maximum width of a call that is repeated next to its outcome.
const NAMED_CALL: usize = 28;

/// Minimum width for anything but the tool name of a call.
const SHORTEST_CALL: usize = 12;

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    /// The call in one sanitized line.
    pub(super) line: String,
    /// How the call is displayed.
    pub(super) drawn: Drawn,
}

/// How a call is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// By its own line.
    Line,
    /// By the message that it sent.
    Mail,
    /// Not displayed.
    Nothing,
}

/// The running calls, in the order in which they started.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

impl Calls {
    /// Adds a call; returns whether its line is drawn immediately.
    pub(super) fn start(&mut self, id: &str, tool: &str, line: &str) -> bool {
        let at_once = tool != MAIL_TOOL;
        let drawn = if at_once { Drawn::Line } else { Drawn::Nothing };
        self.calls.push(Call {
            id: id.to_owned(),
            tool: tool.to_owned(),
            line: line.to_owned(),
            drawn,
        });
        at_once
    }

    /// Marks the pending calls as displayed by an outgoing message.
    pub(super) fn mail_went_out(&mut self) {
        for call in &mut self.calls {
            if call.drawn == Drawn::Nothing {
                call.drawn = Drawn::Mail;
            }
        }
    }

    /// Removes a call that has its result.
    pub(super) fn finish(&mut self, id: &str) -> Option<Call> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        Some(self.calls.remove(at))
    }

    /// Removes all calls: the turn is over, so no result will arrive.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}

/// Returns the line of a call and its width.
pub(super) fn call_line(theme: Theme, color: Option<Color>, line: &str) -> (String, usize) {
    let signs = theme.signs();
    let line = fit(line, theme.room(INDENT), signs.ellipsis);
    let (tool, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
    let drawn = format!(
        "{} {}{rest}",
        tinted(theme, color, signs.call),
        paint(theme, Style::Bold, tool)
    );
    (drawn, INDENT + columns(&line))
}

/// Returns an outcome as the end of its call's line, of which `taken` columns are used. `None` if
/// there is not enough room.
pub(super) fn outcome_behind(
    theme: Theme,
    style: Style,
    outcome: &str,
    taken: usize,
) -> Option<String> {
    let separator = separator(theme);
    (columns(&separator) + columns(outcome) <= theme.room(taken)).then(|| {
        format!(
            "{}{}",
            paint(theme, Style::Dim, &separator),
            paint(theme, style, outcome)
        )
    })
}

/// Returns an outcome on a separate line. It repeats its call if that is given because it is not
/// the previous line.
pub(super) fn outcome_line(
    theme: Theme,
    style: Style,
    call: Option<&str>,
    outcome: &str,
) -> String {
    let signs = theme.signs();
    let start = format!("{}{} ", " ".repeat(INDENT), signs.outcome);
    let room = theme.room(columns(&start));
    let words = match call {
        Some(line) => {
            let separator = separator(theme);
            let left = room.saturating_sub(columns(&separator) + columns(outcome));
            let call = shortened(theme, line, left);
            // A single ellipsis is enough.
            let separator = if call.ends_with(signs.ellipsis) {
                " "
            } else {
                &separator
            };
            call + separator + outcome
        }
        None => outcome.to_owned(),
    };
    format!(
        "{}{}",
        paint(theme, Style::Dim, &start),
        paint(theme, style, &fit(&words, room, signs.ellipsis))
    )
}

/// Returns the separator between a call and its outcome.
fn separator(theme: Theme) -> String {
    format!(" {} ", theme.signs().ellipsis)
}

/// Shortens a call's line to what identifies it: the last component of a path. The outcome is more
/// important, so only the tool is named if fewer than [`SHORTEST_CALL`] columns are left.
fn shortened(theme: Theme, line: &str, left: usize) -> String {
    let (tool, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = if FILE_TOOLS.contains(&tool) {
        rest.rsplit('/').next().unwrap_or(rest)
    } else {
        rest
    };
    let named = format!("{tool} {rest}");
    let limit = left.min(NAMED_CALL);
    if rest.is_empty() || (columns(&named) > limit && limit < SHORTEST_CALL) {
        tool.to_owned()
    } else {
        fit(&named, limit, theme.signs().ellipsis)
    }
}

/// Formats an outcome, including whether it is a success.
pub(super) fn outcome_words(ok: bool, line: &str) -> String {
    match (ok, line) {
        (true, "") => "ok".to_owned(),
        (false, "") => "failed".to_owned(),
        (false, line) if line.starts_with("failed") => line.to_owned(),
        (true, line) => line.to_owned(),
        (false, line) => format!("failed: {line}"),
    }
}

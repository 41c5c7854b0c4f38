//! Running tool calls and their lines.

use swarm_protocol::{Color, DetailLine};

use crate::pane::log_canvas::INDENT;
use crate::signs::{CALL, OUTCOME};
use crate::style::{Style, paint, tinted};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// The tool whose calls are shown as outgoing messages. Its own line is drawn only if the call sent
/// no message.
pub(crate) const MAIL_TOOL: &str = "SendMessage";

/// Tools whose lines contain only a file name.
const FILE_TOOLS: [&str; 3] = ["Read", "Write", "Edit"];

/// Maximum width of a call that is repeated next to its outcome.
const NAMED_CALL: usize = 28;

/// Minimum width for anything but the tool name of a call.
const SHORTEST_CALL: usize = 12;

/// Between a call and its outcome.
const SEPARATOR: &str = " … ";

/// A call that is not displayed with its result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    /// The call in one sanitized line.
    pub(super) line: String,
    /// How the call is displayed.
    pub(super) drawn: Drawn,
    /// The result, once it has arrived.
    result: Option<CallResult>,
}

impl Call {
    fn is_of_group(&self) -> bool {
        matches!(self.drawn, Drawn::Line | Drawn::Waiting)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallResult {
    pub(super) ok: bool,
    pub(super) line: String,
    pub(super) detail: Vec<DetailLine>,
}

/// How a call is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// By its own line.
    Line,
    /// Not yet: an earlier call has no result, and results belong below their calls.
    Waiting,
    /// By the message that it sent.
    Mail,
    /// Not displayed.
    Nothing,
}

/// The calls of a turn, in the order in which they started.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

impl Calls {
    /// Adds a call.
    pub(super) fn start(&mut self, id: &str, tool: &str, line: &str) {
        let drawn = if tool == MAIL_TOOL {
            Drawn::Nothing
        } else {
            Drawn::Waiting
        };
        self.calls.push(Call {
            id: id.to_owned(),
            tool: tool.to_owned(),
            line: line.to_owned(),
            drawn,
            result: None,
        });
    }

    /// Returns the first call if its line is due.
    pub(super) fn next_line(&mut self) -> Option<(String, String)> {
        let first = self.calls.iter_mut().find(|call| call.is_of_group())?;
        if first.drawn == Drawn::Line {
            return None;
        }
        first.drawn = Drawn::Line;
        Some((first.id.clone(), first.line.clone()))
    }

    /// Marks the pending calls as displayed by an outgoing message.
    pub(super) fn mail_went_out(&mut self) {
        for call in &mut self.calls {
            if call.drawn == Drawn::Nothing {
                call.drawn = Drawn::Mail;
            }
        }
    }

    pub(super) fn finish(&mut self, id: &str, result: CallResult) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.result = Some(result);
        }
    }

    /// Removes a call whose result can be displayed: no earlier one waits for its result.
    pub(super) fn next_result(&mut self) -> Option<(Call, CallResult)> {
        let first = self.calls.iter().position(Call::is_of_group);
        let may_show = |(at, call): &(usize, &Call)| {
            call.result.is_some() && (!call.is_of_group() || Some(*at) == first)
        };
        let (at, _) = self.calls.iter().enumerate().find(may_show)?;
        let mut call = self.calls.remove(at);
        let result = call.result.take()?;
        Some((call, result))
    }

    /// Removes a call without a result: the turn is over, so none will arrive.
    pub(super) fn give_up(&mut self) -> bool {
        let Some(at) = self.calls.iter().position(|call| call.result.is_none()) else {
            return false;
        };
        self.calls.remove(at);
        true
    }
}

/// Returns the line of a call and its width.
pub(super) fn call_line(theme: Theme, color: Option<Color>, line: &str) -> (String, usize) {
    let line = fit(line, theme.room(INDENT));
    let (tool, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
    let drawn = format!(
        "{} {}{rest}",
        tinted(theme, color, CALL),
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
    (columns(SEPARATOR) + columns(outcome) <= theme.room(taken)).then(|| {
        format!(
            "{}{}",
            paint(theme, Style::Dim, SEPARATOR),
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
    let start = format!("{}{OUTCOME} ", " ".repeat(INDENT));
    let room = theme.room(columns(&start));
    let words = match call {
        Some(line) => {
            let left = room.saturating_sub(columns(SEPARATOR) + columns(outcome));
            let call = shortened(line, left);
            // A single ellipsis is enough.
            let separator = if call.ends_with('…') {
                " "
            } else {
                SEPARATOR
            };
            call + separator + outcome
        }
        None => outcome.to_owned(),
    };
    format!(
        "{}{}",
        paint(theme, Style::Dim, &start),
        paint(theme, style, &fit(&words, room))
    )
}

/// Shortens a call's line to what identifies it: the last component of a path. The outcome is more
/// important, so only the tool is named if fewer than [`SHORTEST_CALL`] columns are left.
fn shortened(line: &str, left: usize) -> String {
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
        fit(&named, limit)
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

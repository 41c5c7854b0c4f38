//! Tool calls under way, and how each is drawn.

use swarm_protocol::Color;

use crate::pane::log_canvas::INDENT;
use crate::style::{Style, paint, tinted};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// The tool whose calls show as mail that goes out. Its own line is drawn only where no mail came of the call.
const MAIL_TOOL: &str = "SendMessage";

/// The tools whose lines name a file and nothing else.
const FILE_TOOLS: [&str; 3] = ["Read", "Write", "Edit"];

/// Columns that a call takes at most where its outcome is drawn apart from it.
const NAMED_CALL: usize = 28;

/// Columns below which nothing of a call but its tool would be left to read.
const SHORTEST_CALL: usize = 12;

/// A call whose result is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    /// The call in one clean line.
    pub(super) line: String,
    /// Whether it is on the screen, as a line of its own or as the mail it sent.
    pub(super) drawn: Drawn,
}

/// What of a call is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// Its line.
    Line,
    /// The mail that it sent.
    Mail,
    /// Nothing.
    Nothing,
}

/// The calls under way, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

impl Calls {
    /// Notes a call; tells whether its line is to be drawn at once.
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

    /// Notes that mail went out, which is what the calls that wait for it look like.
    pub(super) fn mail_went_out(&mut self) {
        for call in &mut self.calls {
            if call.drawn == Drawn::Nothing {
                call.drawn = Drawn::Mail;
            }
        }
    }

    /// Takes out a call that has its result.
    pub(super) fn finish(&mut self, id: &str) -> Option<Call> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        Some(self.calls.remove(at))
    }

    /// Forgets all: a turn is over, so no result will come.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}

/// The line of a call, and the columns that it takes.
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

/// An outcome as the end of its call's line, of which `taken` columns are used. `None` where it has not the room.
pub(super) fn outcome_behind(
    theme: Theme,
    style: Style,
    outcome: &str,
    taken: usize,
) -> Option<String> {
    let joint = joint(theme);
    (columns(&joint) + columns(outcome) <= theme.room(taken)).then(|| {
        format!(
            "{}{}",
            paint(theme, Style::Dim, &joint),
            paint(theme, style, outcome)
        )
    })
}

/// An outcome on a line of its own. It names its call, if that is given because it is not the line above.
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
            let joint = joint(theme);
            let left = room.saturating_sub(columns(&joint) + columns(outcome));
            let call = shortened(theme, line, left);
            // One sign of something left out is enough.
            let joint = if call.ends_with(signs.ellipsis) {
                " "
            } else {
                &joint
            };
            call + joint + outcome
        }
        None => outcome.to_owned(),
    };
    format!(
        "{}{}",
        paint(theme, Style::Dim, &start),
        paint(theme, style, &fit(&words, room, signs.ellipsis))
    )
}

/// What stands between a call and its outcome.
fn joint(theme: Theme) -> String {
    format!(" {} ", theme.signs().ellipsis)
}

/// As much of a call's line as is needed to know it again: of a file's path, its last name. The outcome is the news,
/// so where less than [`SHORTEST_CALL`] is left only the tool is named.
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

/// An outcome that says whether it is one of success.
pub(super) fn outcome_words(ok: bool, line: &str) -> String {
    match (ok, line) {
        (true, "") => "ok".to_owned(),
        (false, "") => "failed".to_owned(),
        (true, line) => line.to_owned(),
        (false, line) => format!("failed: {line}"),
    }
}

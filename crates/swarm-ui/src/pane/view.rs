//! Events into lines.

use std::fmt;
use std::io::Write;

use swarm_protocol::{AgentEvent, Color, MemberState};

use crate::pane::calls::{Call, Calls, Drawn};
use crate::pane::header::PaneHeader;
use crate::pane::request::RequestLine;
use crate::pane::sheet::{INDENT, Sheet};
use crate::print::{counted, short_count, short_duration};
use crate::sanitize::{clean_line, clean_text};
use crate::style::{Style, paint};
use crate::theme::Theme;
use crate::width::{columns, fit};

/// Widest rule between two turns.
const RULE: usize = 64;

/// Columns of a call's line that are kept beside its outcome.
const SHORTEST_CALL: usize = 12;

/// A teammate's pane, drawn as a scrolling log: nothing is ever cleared or drawn over.
///
/// A screen that cannot be written to does not stop an agent, so write errors are dropped.
pub struct PaneView<W> {
    sheet: Sheet<W>,
    theme: Theme,
    color: Option<Color>,
    calls: Calls,
    /// The call whose line may be open, and the columns that it takes.
    last_call: Option<(String, usize)>,
    /// Whether text of the model message under way was shown.
    streamed: bool,
    /// Where the sheet stood after a sign of thinking.
    thinking: Option<u64>,
    /// A turn has ended, so what comes next belongs to another.
    rule_due: bool,
    /// The last state line, and where the sheet stood after it.
    last_state: Option<(String, u64)>,
    turns: u64,
    tokens: u64,
}

impl<W> fmt::Debug for PaneView<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaneView")
            .field("theme", &self.theme)
            .finish_non_exhaustive()
    }
}

impl<W: Write> PaneView<W> {
    /// Draws to `out`, first of all whose pane it is.
    pub fn new(out: W, theme: Theme, header: &PaneHeader) -> Self {
        let mut sheet = Sheet::new(out, theme);
        sheet.line(&header.line(theme));
        sheet.line("");
        sheet.flush();
        Self {
            sheet,
            theme,
            color: header.color,
            calls: Calls::default(),
            last_call: None,
            streamed: false,
            thinking: None,
            rule_due: false,
            last_state: None,
            turns: 0,
            tokens: 0,
        }
    }

    /// Draws one event.
    pub fn event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted => self.rule(),
            AgentEvent::TextDelta { text } => self.text(text),
            AgentEvent::ThinkingDelta { .. } => self.thinking(),
            AgentEvent::TextDiscarded => self.discarded(),
            AgentEvent::MessageDone { text } => self.message_done(text),
            AgentEvent::ToolStarted { id, tool, line } => self.call(id, tool, line),
            AgentEvent::ToolFinished { id, ok, line, .. } => self.outcome(id, *ok, line),
            AgentEvent::MailIn { from, color, line } => self.mail_in(from, color.as_deref(), line),
            AgentEvent::MailOut { to, line } => self.mail_out(to, line),
            AgentEvent::Retrying {
                attempt,
                wait_ms,
                reason,
            } => self.retry(*attempt, *wait_ms, reason),
            AgentEvent::State { state, detail } => self.state(*state, detail.as_deref()),
            AgentEvent::TurnEnded { usage, error, .. } => {
                self.turn_ended(usage.total(), error.as_deref());
            }
            AgentEvent::Notice { line } => self.notice(line),
        }
        self.sheet.flush();
    }

    fn text(&mut self, text: &str) {
        self.streamed |= !text.is_empty();
        self.sheet.text(&clean_text(text));
    }

    fn thinking(&mut self) {
        if self.thinking != Some(self.sheet.pieces()) {
            self.sheet
                .signed(self.theme.signs().thinking, Style::Dim, "thinking");
            self.thinking = Some(self.sheet.pieces());
        }
    }

    fn discarded(&mut self) {
        if std::mem::take(&mut self.streamed) {
            let what = "the text above is void, the model is asked again";
            self.sheet
                .signed(self.theme.signs().retry, Style::Warn, what);
        }
    }

    fn message_done(&mut self, text: &str) {
        if !self.streamed {
            self.text(text);
        }
        self.streamed = false;
        self.sheet.settle();
    }

    fn call(&mut self, id: &str, tool: &str, line: &str) {
        let line = clean_line(line);
        self.sheet.settle();
        if self.calls.start(id, tool, &line) {
            self.draw_call(id, &line);
        }
    }

    /// Draws the line of a call and leaves it open for the outcome.
    fn draw_call(&mut self, id: &str, line: &str) {
        let line = fit(line, self.room(INDENT), self.theme.signs().ellipsis);
        self.last_call = Some((id.to_owned(), INDENT + columns(&line)));
        let sign = self.tinted(self.theme.signs().call, self.color);
        let (tool, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
        let tool = paint(self.theme, Style::Bold, tool);
        self.sheet.open_line(&format!("{sign} {tool}{rest}"));
    }

    fn outcome(&mut self, id: &str, ok: bool, line: &str) {
        let Some(call) = self.calls.finish(id) else {
            return;
        };
        if call.drawn == Drawn::Mail && ok {
            return;
        }
        if call.drawn == Drawn::Nothing {
            self.draw_call(id, &call.line);
        }
        let style = if ok { Style::Dim } else { Style::Bad };
        self.draw_outcome(&call, style, &outcome_words(ok, &clean_line(line)));
    }

    /// Draws an outcome behind its call's line if that is open and leaves the room, else on a line of its own.
    fn draw_outcome(&mut self, call: &Call, style: Style, outcome: &str) {
        let signs = self.theme.signs();
        let joint = format!(" {} ", signs.ellipsis);
        let column = self
            .last_call
            .as_ref()
            .filter(|(id, _)| self.sheet.is_open() && *id == call.id)
            .map(|(_, column)| *column);
        if column.is_some_and(|column| columns(&joint) + columns(outcome) <= self.room(column)) {
            let joint = paint(self.theme, Style::Dim, &joint);
            let outcome = paint(self.theme, style, outcome);
            self.sheet.finish_line(&format!("{joint}{outcome}"));
            return;
        }
        let start = format!("{}{} ", " ".repeat(INDENT), signs.outcome);
        let room = self.room(columns(&start));
        let named = if column.is_some() {
            outcome.to_owned()
        } else {
            let call_room = room.saturating_sub(columns(&joint) + columns(outcome));
            fit(&call.line, call_room.max(SHORTEST_CALL), signs.ellipsis) + &joint + outcome
        };
        let start = paint(self.theme, Style::Dim, &start);
        let named = paint(self.theme, style, &fit(&named, room, signs.ellipsis));
        self.sheet.line(&(start + &named));
    }

    fn mail_in(&mut self, from: &str, color: Option<&str>, line: &str) {
        self.rule();
        let color = color.and_then(|color| color.parse().ok());
        self.mail((self.theme.signs().mail_in, "from"), from, color, line);
    }

    fn mail_out(&mut self, to: &str, line: &str) {
        self.calls.mail_went_out();
        self.mail((self.theme.signs().mail_out, "to"), to, None, line);
    }

    fn mail(&mut self, (sign, way): (&str, &str), name: &str, color: Option<Color>, line: &str) {
        let name = clean_line(name);
        let start = columns(&format!("{sign} {way} {name}: "));
        let words = fit(
            &clean_line(line),
            self.room(start),
            self.theme.signs().ellipsis,
        );
        let sign = self.tinted(sign, color);
        let name = paint(self.theme, Style::Name(color), &name);
        self.sheet.line(&format!("{sign} {way} {name}: {words}"));
    }

    fn retry(&mut self, attempt: u32, wait_ms: u64, reason: &str) {
        let wait = short_duration(wait_ms);
        let what = format!("attempt {attempt} in {wait}: {}", clean_line(reason));
        self.sheet
            .signed(self.theme.signs().retry, Style::Warn, &what);
    }

    fn notice(&mut self, line: &str) {
        self.sheet
            .signed(self.theme.signs().notice, Style::Dim, &clean_line(line));
    }

    fn turn_ended(&mut self, tokens: u64, error: Option<&str>) {
        self.sheet.settle();
        self.calls.clear();
        self.streamed = false;
        self.turns += 1;
        self.tokens += tokens;
        if let Some(error) = error {
            let what = format!("turn failed: {}", clean_line(error));
            self.sheet
                .signed(self.theme.signs().failed, Style::Bad, &what);
        }
        self.rule_due = true;
    }

    fn state(&mut self, state: MemberState, detail: Option<&str>) {
        let detail = clean_line(detail.unwrap_or_default());
        match state {
            MemberState::Starting | MemberState::Working => {}
            MemberState::WaitingPermission | MemberState::WaitingPlan => self.waiting(&detail),
            MemberState::Idle | MemberState::IdleUnreported => {
                let turns = counted(self.turns, "turn");
                let tokens = format!("{} tokens", short_count(self.tokens));
                let next = if detail.is_empty() {
                    "waiting for mail"
                } else {
                    &detail
                };
                self.state_line(self.theme.signs().idle, &["idle", &turns, &tokens, next]);
            }
            state => self.state_line(self.theme.signs().state, &[state.name(), &detail]),
        }
    }

    /// Draws a state, unless that very line is the last thing that was drawn.
    fn state_line(&mut self, sign: &str, parts: &[&str]) {
        let parts: Vec<&str> = parts
            .iter()
            .copied()
            .filter(|part| !part.is_empty())
            .collect();
        let line = parts.join(&format!(" {} ", self.theme.signs().dot));
        if self.last_state != Some((line.clone(), self.sheet.pieces())) {
            self.sheet.signed(sign, Style::Dim, &line);
            self.last_state = Some((line, self.sheet.pieces()));
        }
    }

    /// Draws that a person is needed, and the commands with which that person answers.
    fn waiting(&mut self, detail: &str) {
        let request = RequestLine::parse(detail);
        let head = format!("{} needs an answer", self.theme.signs().waiting);
        let head = if self.theme.color {
            paint(self.theme, Style::Loud, &format!(" {head} "))
        } else {
            head + ":"
        };
        self.sheet
            .line(format!("{head} {}", request.what).trim_end());
        let commands = match request.id {
            "" => vec!["swarm requests".to_owned()],
            id => vec![format!("swarm approve {id}"), format!("swarm deny {id}")],
        };
        for command in commands {
            let command = paint(self.theme, Style::Bold, &command);
            self.sheet
                .line(&format!("{}{command}", " ".repeat(2 * INDENT)));
        }
    }

    /// Sets the next turn off from the last one.
    fn rule(&mut self) {
        if !std::mem::take(&mut self.rule_due) {
            return;
        }
        let rule = self.theme.signs().rule;
        let start = format!("{} turn {} ", rule.repeat(2), self.turns + 1);
        let width = self.theme.width.unwrap_or(RULE).min(RULE);
        let rest = rule.repeat(width.saturating_sub(columns(&start)));
        self.sheet.line("");
        self.sheet
            .line(&paint(self.theme, Style::Dim, &(start + &rest)));
    }

    /// Columns that are left when `taken` are used.
    fn room(&self, taken: usize) -> usize {
        self.theme
            .width
            .map_or(usize::MAX, |width| width.saturating_sub(taken))
    }

    fn tinted(&self, sign: &str, color: Option<Color>) -> String {
        paint(self.theme, color.map_or(Style::Bold, Style::Tint), sign)
    }
}

/// An outcome that says whether it is one of success.
fn outcome_words(ok: bool, line: &str) -> String {
    match (ok, line) {
        (true, "") => "ok".to_owned(),
        (false, "") => "failed".to_owned(),
        (true, line) => line.to_owned(),
        (false, line) => format!("failed: {line}"),
    }
}

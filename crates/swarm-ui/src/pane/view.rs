//! Renders events as lines.

use std::fmt;
use std::io::Write;
use std::path::Path;

use swarm_protocol::{AgentEvent, Color, DetailLine, LEAD_NAME, MemberName, TeamName};

use crate::difference::{painted, styled_lines};
use crate::pane::border::BorderTitle;
use crate::pane::calls::Calls;
use crate::pane::header::PaneHeader;
use crate::pane::links::{Linker, Links};
use crate::pane::log_canvas::LogCanvas;
use crate::pane::mail::Direction;
use crate::pane::paths::PathShortener;
use crate::pane::sub_agents::SubAgentLines;
use crate::print::{short_count, short_duration, wrapped};
use crate::sanitize::{clean_line, clean_text};
use crate::signs::{FAILED, NOTICE, RETRY, THINKING};
use crate::style::{Style, paint};
use crate::theme::{Theme, WidthSource};
use crate::width::columns;

/// Maximum width of the rule between two turns.
const RULE: usize = 64;

/// A teammate's pane as a scrolling log: nothing is ever cleared or overwritten.
///
/// Write errors are ignored because a terminal must not stop an agent. Unfinished output is
/// completed when the view is dropped.
pub struct PaneView<W: Write> {
    pub(super) sheet: LogCanvas<W>,
    width: WidthSource,
    pub(super) color: Option<Color>,
    /// The team that commands which answer requests name.
    pub(super) team: Option<TeamName>,
    pub(super) places: PathShortener,
    pub(super) calls: Calls,
    sub_agents: SubAgentLines,
    /// The call whose line may be open, and its width.
    pub(super) last_call: Option<(String, usize)>,
    text: Text,
    /// Events that arrived while text was streaming and are drawn after it.
    deferred: Vec<AgentEvent>,
    /// Position of the log after a thinking sign.
    thinking: Option<u64>,
    /// A turn has ended, so the next event belongs to another one.
    rule_due: bool,
    /// The last state line, and the position of the log after it.
    pub(super) last_state: Option<(String, u64)>,
    pub(super) turns: u64,
    pub(super) tokens: u64,
    /// Error of the last turn, as displayed.
    pub(super) failure: Option<String>,
    /// The last call with a folded result, and the result.
    pub(super) folded: Option<(String, Vec<DetailLine>)>,
    /// The terminal title, if it is set.
    title: Option<BorderTitle>,
    /// Hint for moving a turn that waits for a sub-agent to the background, and whether this turn
    /// has shown it.
    hint: Option<String>,
    hinted: bool,
    /// Whether long results and messages are folded, and thinking is only mentioned.
    pub(super) folds: bool,
}

/// Display state of the current model message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Nothing,
    /// Started; more text may follow.
    Open,
    /// Ended, although the message is not done.
    Closed,
}

impl<W: Write> fmt::Debug for PaneView<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaneView")
            .field("theme", &self.theme())
            .finish_non_exhaustive()
    }
}

impl<W: Write> Drop for PaneView<W> {
    fn drop(&mut self) {
        self.close_text();
        self.sheet.close_line();
        self.sheet.flush();
    }
}

impl<W: Write> PaneView<W> {
    /// Creates a view that draws to `out` in the width of `theme` and starts with the header.
    pub fn new(out: W, theme: Theme, header: &PaneHeader) -> Self {
        let width = theme.width;
        Self::measured(out, theme, Box::new(move || width), header)
    }

    /// Creates a view of variable width: `width` replaces the width in `theme`.
    pub fn measured(out: W, mut theme: Theme, width: WidthSource, header: &PaneHeader) -> Self {
        theme.width = width();
        let mut view = Self::bare(out, theme, width, &header.cwd, header.home.as_deref());
        view.color = header.color;
        view.team.clone_from(&header.team);
        view.sheet.line(&header.line(theme));
        view.sheet.line("");
        view.sheet.flush();
        view
    }

    /// Creates a view without a header that draws results, messages and thinking in full, in the
    /// width of `theme`. Paths are relative to `cwd`.
    pub fn unfolded(out: W, theme: Theme, cwd: &Path, home: Option<&Path>) -> Self {
        let width = theme.width;
        let mut view = Self::bare(out, theme, Box::new(move || width), cwd, home);
        view.folds = false;
        view
    }

    fn bare(out: W, theme: Theme, width: WidthSource, cwd: &Path, home: Option<&Path>) -> Self {
        Self {
            sheet: LogCanvas::new(out, theme),
            width,
            color: None,
            team: None,
            places: PathShortener::new(cwd, home),
            calls: Calls::default(),
            sub_agents: SubAgentLines::default(),
            last_call: None,
            text: Text::Nothing,
            deferred: Vec::new(),
            thinking: None,
            rule_due: false,
            last_state: None,
            turns: 0,
            tokens: 0,
            failure: None,
            folded: None,
            title: None,
            hint: None,
            hinted: false,
            folds: true,
        }
    }

    /// Also sets the terminal title to the member's name and state and, with `bell`, rings when the
    /// member needs a person; tmux then marks the window.
    #[must_use]
    pub fn titled(mut self, name: MemberName, bell: bool) -> Self {
        let mut title = BorderTitle::new(name, bell);
        if let Some(sequence) = title.changed_sequence() {
            self.sheet.control(&sequence);
        }
        self.title = Some(title);
        self
    }

    /// Also makes links of words.
    #[must_use]
    pub fn linked(mut self, linker: Linker) -> Self {
        self.sheet.link(Links::new(linker));
        self
    }

    /// Also shows, once in a turn that waits for a sub-agent, how to move it to the background.
    #[must_use]
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Draws an event.
    pub fn event(&mut self, event: &AgentEvent) {
        if let Some(sequence) = self.title.as_mut().and_then(|title| title.follow(event)) {
            self.sheet.control(&sequence);
        }
        if self.text == Text::Open && is_aside(event) {
            self.deferred.push(event.clone());
            return;
        }
        self.sheet.resize((self.width)());
        self.draw(event);
        self.sheet.flush();
    }

    fn draw(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted => {
                self.hinted = false;
                self.rule();
            }
            AgentEvent::TextDelta { text } => self.text(text),
            AgentEvent::ThinkingDelta { text } => self.thinking(text),
            AgentEvent::TextDiscarded => self.discarded(),
            AgentEvent::MessageDone { text } => self.message_done(text),
            AgentEvent::ToolStarted { id, tool, line } => self.call(id, tool, line),
            AgentEvent::ToolFinished {
                id,
                ok,
                line,
                detail,
                ..
            } => self.outcome(id, *ok, line, detail),
            AgentEvent::Expand => self.expand(),
            AgentEvent::MailIn {
                from,
                color,
                line,
                more,
            } => {
                self.rule();
                // The lead has no colour, as in its own terminal: red suggests an error.
                let color = color.as_deref().filter(|_| from != LEAD_NAME);
                let color = color.and_then(|color| color.parse().ok());
                self.mail_in(from, color, line, more.as_ref());
            }
            AgentEvent::MailOut { to, line } => {
                self.calls.mail_went_out();
                self.mail(Direction::Out, to, None, line);
            }
            AgentEvent::Retrying {
                attempt,
                wait_ms,
                reason,
            } => self.retry(*attempt, *wait_ms, reason),
            AgentEvent::State { state, detail } => self.state(*state, detail.as_deref()),
            AgentEvent::TurnEnded { usage, error, .. } => {
                self.turn_ended(usage.total(), error.as_deref());
            }
            AgentEvent::Asked { from, line, id, team } => self.notice(&format!(
                "{from} asks for permission: {line}. Answer with `swarm approve {id} --team {team}` \
                 or `swarm deny {id} --team {team}`"
            )),
            AgentEvent::CallRepeated { tool, times, .. } => {
                self.notice(&format!("the same call of {tool} {times} times in a row"));
            }
            AgentEvent::CommandOutput { text } => self.command_output(text),
            AgentEvent::Notice { line } => self.notice(line),
            AgentEvent::Compacted { before, after, .. } => {
                let [before, after] = [*before, *after].map(short_count);
                self.notice(&format!(
                    "conversation compacted: {before} to {after} tokens"
                ));
            }
            // Shown by `swarm status` and the status line.
            AgentEvent::Context(_)
            | AgentEvent::Commands { .. }
            | AgentEvent::ModeChanged { .. }
            | AgentEvent::ModelChanged { .. }
            | AgentEvent::FallbackUsed { .. } => {}
            AgentEvent::SubAgentStarted { .. }
            | AgentEvent::SubAgentEvent { .. }
            | AgentEvent::SubAgentEnded { .. } => self.sub_agent(event),
        }
    }

    fn sub_agent(&mut self, event: &AgentEvent) {
        if let AgentEvent::SubAgentEnded { usage, .. } = event {
            self.tokens += usage.total();
        }
        let theme = self.theme();
        if let Some(line) = self.sub_agents.line(theme, event) {
            self.close_text();
            self.sheet.close_line();
            self.sheet.line(&line);
        }
        let is_waited_for = matches!(
            event,
            AgentEvent::SubAgentStarted {
                parent: None,
                background: false,
                ..
            }
        );
        if let Some(hint) = self.hint.clone().filter(|_| is_waited_for && !self.hinted) {
            self.hinted = true;
            self.notice(&hint);
        }
    }

    pub(super) fn theme(&self) -> Theme {
        self.sheet.theme()
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.text = Text::Open;
        }
        self.sheet.text(&clean_text(text));
    }

    /// No more text follows for now: draws the deferred events.
    pub(super) fn close_text(&mut self) {
        if self.text == Text::Open {
            self.text = Text::Closed;
            self.sheet.close_line();
            for event in std::mem::take(&mut self.deferred) {
                self.draw(&event);
            }
        }
    }

    fn thinking(&mut self, text: &str) {
        if !self.folds {
            return self.sheet.signed(THINKING, Style::Dim, &clean_text(text));
        }
        if self.thinking != Some(self.sheet.pieces()) {
            self.sheet.signed(THINKING, Style::Dim, "thinking");
            self.thinking = Some(self.sheet.pieces());
        }
    }

    fn discarded(&mut self) {
        if self.text != Text::Nothing {
            let what = "the text above is discarded, retrying";
            self.sheet.signed(RETRY, Style::Warn, what);
        }
        self.close_text();
        self.text = Text::Nothing;
    }

    fn message_done(&mut self, text: &str) {
        if self.text == Text::Nothing {
            self.text(text);
        }
        self.sheet.close_line();
        self.close_text();
        self.text = Text::Nothing;
    }

    fn retry(&mut self, attempt: u32, wait_ms: u64, reason: &str) {
        let wait = short_duration(wait_ms);
        let what = format!("attempt {attempt} in {wait}: {}", clean_line(reason));
        self.sheet.signed(RETRY, Style::Warn, &what);
    }

    fn command_output(&mut self, text: &str) {
        let width = self.theme().width.unwrap_or(usize::MAX);
        for (style, line) in styled_lines(&clean_text(text.trim_end())) {
            for row in wrapped(&line, width) {
                let row = painted(self.theme(), style, row);
                self.sheet.line(&row);
            }
        }
    }

    pub(super) fn notice(&mut self, line: &str) {
        self.sheet.signed(NOTICE, Style::Dim, &clean_line(line));
    }

    fn turn_ended(&mut self, tokens: u64, error: Option<&str>) {
        self.close_text();
        self.sheet.close_line();
        while self.calls.give_up() {
            self.draw_calls();
        }
        self.text = Text::Nothing;
        self.turns += 1;
        self.tokens += tokens;
        self.failure = error.map(clean_line);
        if let Some(error) = self.failure.clone() {
            let what = if error.starts_with("the turn ") {
                error
            } else {
                format!("turn failed: {error}")
            };
            self.sheet.signed(FAILED, Style::Bad, &what);
        }
        self.rule_due = true;
    }

    /// Separates the next turn from the previous one.
    fn rule(&mut self) {
        if !std::mem::take(&mut self.rule_due) {
            return;
        }
        let theme = self.theme();
        let start = format!("── turn {} ", self.turns + 1);
        let rest = "─".repeat(
            theme
                .room(columns(&start))
                .min(RULE.saturating_sub(columns(&start))),
        );
        self.sheet.line("");
        self.sheet.line(&paint(theme, Style::Dim, &(start + &rest)));
    }
}

/// Returns whether the event can be deferred to the end of streaming text: it is neither part of
/// the agent's own work nor requires a person.
fn is_aside(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::MailIn { .. }
        | AgentEvent::MailOut { .. }
        | AgentEvent::Asked { .. }
        | AgentEvent::CallRepeated { .. }
        | AgentEvent::CommandOutput { .. }
        | AgentEvent::Expand
        | AgentEvent::Notice { .. }
        | AgentEvent::Compacted { .. }
        | AgentEvent::SubAgentStarted { .. }
        | AgentEvent::SubAgentEvent { .. }
        | AgentEvent::SubAgentEnded { .. } => true,
        AgentEvent::State { state, .. } => !state.needs_answer(),
        _ => false,
    }
}

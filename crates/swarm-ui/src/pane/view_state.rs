//! States in the log of a pane.

use std::io::Write;

use swarm_protocol::MemberState;

use crate::pane::log_canvas::INDENT;
use crate::pane::request::RequestLine;
use crate::pane::view::PaneView;
use crate::print::{counted, short_count};
use crate::sanitize::clean_line;
use crate::signs::{DOT, IDLE, STATE};
use crate::style::Style;
use crate::width::columns;

impl<W: Write> PaneView<W> {
    pub(super) fn state(&mut self, state: MemberState, detail: Option<&str>) {
        let detail = clean_line(detail.unwrap_or_default());
        match state {
            // The retry event of a throttled member contains more information.
            MemberState::Starting
            | MemberState::Working
            | MemberState::Throttled
            // A notice has the reason.
            | MemberState::OverBudget => {}
            MemberState::WaitingPermission | MemberState::WaitingPlan => {
                let request = RequestLine::parse(&detail);
                for line in request.lines(self.team.as_ref(), self.theme()) {
                    self.sheet.line(&line);
                }
            }
            MemberState::Idle | MemberState::IdleUnreported => {
                let line = self.idle_line(&detail);
                self.state_line(IDLE, line);
            }
            MemberState::Failed if self.has_shown(&detail) => {
                self.state_line(STATE, state.name().to_owned());
            }
            state => self.state_line(STATE, Self::joined(&[state.name(), &detail])),
        }
    }

    /// Returns whether a reason is displayed as the error of the last turn.
    fn has_shown(&self, reason: &str) -> bool {
        let failure = self.failure.as_deref();
        failure.is_some_and(|failure| failure.starts_with(reason))
    }

    /// Returns the details of an idle member; before its first turn it only waits for mail.
    fn idle_line(&self, detail: &str) -> String {
        let mail = "waiting for mail";
        if self.turns == 0 {
            return if detail.is_empty() { mail } else { detail }.to_owned();
        }
        let turns = counted(self.turns, "turn");
        // Servers that do not count tokens report none; a 0 would suggest that the turn cost
        // nothing.
        let tokens = match self.tokens {
            0 => String::new(),
            tokens => format!("{} tokens", short_count(tokens)),
        };
        let line = Self::joined(&["idle", &turns, &tokens, detail]);
        let longer = Self::joined(&[&line, mail]);
        let fits = columns(&longer) <= self.theme().room(INDENT);
        if detail.is_empty() && fits {
            longer
        } else {
            line
        }
    }

    /// Joins the parts that are not empty into one line.
    fn joined(parts: &[&str]) -> String {
        let parts = parts.iter().copied().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(DOT)
    }

    /// Draws a state unless the same line is the last output.
    fn state_line(&mut self, sign: &str, line: String) {
        if self.last_state != Some((line.clone(), self.sheet.pieces())) {
            self.sheet.signed(sign, Style::Dim, &line);
            self.last_state = Some((line, self.sheet.pieces()));
        }
    }
}

//! The status line of a session: current activity and usage.

use std::time::{Duration, Instant};

use swarm_protocol::{AgentEvent, ContextUse, Money, PermissionMode};

use super::turn_calls::TurnCalls;
use crate::print::short_count;
use crate::signs::DOT;

/// Frames of the activity indicator, one per second.
const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// State of a session, updated by its events.
#[derive(Debug, Clone, Default)]
pub struct SessionStatus {
    /// Model id at its provider.
    pub model: String,
    /// Full name of the model that answers until the end of the turn, if the own one is overloaded.
    fallback: Option<String>,
    /// Permission mode.
    pub mode: PermissionMode,
    /// Whether the session is in coordinator mode, in which it only delegates.
    pub is_coordinator: bool,
    /// Checked-out branch; `None` if there is none.
    pub branch: Option<String>,
    /// Context window usage; `None` if unknown.
    pub context: Option<ContextUse>,
    /// Tokens used, by completed turns or as set by [`Self::set_spent`].
    pub tokens: u64,
    /// What they cost, if known.
    pub cost: Option<Money>,
    /// Start of the current turn.
    turn: Option<Instant>,
    calls: TurnCalls,
    waits: bool,
}

/// What an event changed in the status of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange {
    /// Nothing.
    None,
    /// Something else than the end of a turn.
    Other,
    /// A turn ended, which took this long.
    TurnEnded(Duration),
}

impl SessionStatus {
    /// Creates the state of a new session.
    pub fn new(model: String, mode: PermissionMode, branch: Option<String>) -> Self {
        Self {
            model,
            mode,
            branch,
            ..Self::default()
        }
    }

    /// Sets what the session and its team have used so far, including the current turn.
    pub fn set_spent(&mut self, tokens: u64, cost: Option<Money>) {
        self.tokens = tokens;
        self.cost = cost;
    }

    /// Handles an event that happened at `now`.
    pub fn follow(&mut self, event: &AgentEvent, now: Instant) -> SessionChange {
        match event {
            AgentEvent::TurnStarted => {
                self.turn = Some(now);
                self.calls.clear();
            }
            AgentEvent::ToolStarted { id, tool, line } => self.calls.start(id, tool, line, now),
            AgentEvent::ToolFinished { id, ok, .. } => self.calls.finish(id, *ok),
            AgentEvent::SubAgentEnded { usage, .. } => self.tokens += usage.total(),
            AgentEvent::Context(used) => self.context = Some(*used),
            AgentEvent::ModeChanged { mode } => self.mode = *mode,
            AgentEvent::ModelChanged { model } => self.model.clone_from(model),
            AgentEvent::FallbackUsed { model } => self.fallback = Some(model.clone()),
            AgentEvent::State { state, .. } => self.waits = state.needs_answer(),
            AgentEvent::TurnEnded { usage, .. } => {
                self.tokens += usage.total();
                self.calls.clear();
                self.fallback = None;
                if let Some(began) = self.turn.take() {
                    return SessionChange::TurnEnded(now.saturating_duration_since(began));
                }
            }
            _ => return SessionChange::None,
        }
        SessionChange::Other
    }

    /// Returns whether a turn is running, in which case the line changes over time.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns whether the activity changes over time: a turn is running and waits for nobody.
    pub fn is_timed(&self) -> bool {
        self.is_working() && !self.waits
    }

    /// Returns the status line.
    pub fn line(&self, now: Instant) -> String {
        let mut parts = Vec::new();
        parts.extend(self.activity(now));
        parts.extend(self.is_coordinator.then(|| "coordinator".to_owned()));
        parts.push(self.mode.to_string());
        parts.push(match &self.fallback {
            Some(fallback) => format!("{fallback} (fallback)"),
            None => self.model.clone(),
        });
        if let Some(used) = self.context {
            parts.push(format!("context {} %", used.percent()));
        }
        if self.tokens > 0 {
            parts.push(format!("{} tokens", short_count(self.tokens)));
        }
        if let Some(cost) = self.cost.filter(|cost| !cost.is_zero()) {
            parts.push(cost.to_string());
        }
        parts.extend(self.branch.clone());
        parts.join(DOT)
    }

    /// Returns rows about finished calls whose results are not in the output yet, because an
    /// earlier call is running.
    pub fn finished_calls(&self) -> Vec<String> {
        self.calls.finished_rows()
    }

    /// Returns the current activity and its duration; `None` between turns.
    pub fn activity(&self, now: Instant) -> Option<String> {
        let turn = self.turn?;
        let seconds = |since: Instant| now.saturating_duration_since(since).as_secs();
        let at = usize::try_from(seconds(turn)).unwrap_or_default() % SPINNER.len();
        let frame = SPINNER[at];
        let what = match self.calls.running().as_slice() {
            _ if self.waits => "waiting for an answer".to_owned(),
            [] => format!("working {} s", seconds(turn)),
            [(tool, since)] => format!("{tool} {} s", seconds(*since)),
            [(tool, since), others @ ..] => {
                format!("{tool} {} s +{}", seconds(*since), others.len())
            }
        };
        Some(format!("{frame} {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarm_protocol::{MemberState, Usage};

    #[test]
    fn the_line_shows_activity_duration_and_usage() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut status = SessionStatus::new(
            "sonnet".to_owned(),
            PermissionMode::Default,
            Some("main".to_owned()),
        );
        let line = |status: &SessionStatus, seconds| status.line(at(seconds));
        assert_eq!(line(&status, 0), "default · sonnet · main");
        assert!(!status.is_working());
        status.follow(&AgentEvent::TurnStarted, at(0));
        assert_eq!(line(&status, 3), "◒ working 3 s · default · sonnet · main");
        let started = |id: &str, tool: &str| AgentEvent::ToolStarted {
            id: id.to_owned(),
            tool: tool.to_owned(),
            line: String::new(),
        };
        status.follow(&started("1", "Bash"), at(4));
        status.follow(&started("2", "Read"), at(4));
        let mode = PermissionMode::Plan;
        status.follow(&AgentEvent::ModeChanged { mode }, at(5));
        assert_eq!(line(&status, 16), "◐ Bash 12 s +1 · plan · sonnet · main");
        let enters = |state| AgentEvent::State {
            state,
            detail: None,
        };
        status.follow(&enters(MemberState::WaitingPermission), at(17));
        let activity = status.activity(at(17));
        assert_eq!(activity.as_deref(), Some("◓ waiting for an answer"));
        assert!(status.is_working() && !status.is_timed());
        status.follow(&enters(MemberState::Working), at(18));
        assert!(status.is_timed());
        let model = "anthropic/haiku".to_owned();
        status.follow(&AgentEvent::FallbackUsed { model }, at(18));
        assert!(line(&status, 19).ends_with(" · plan · anthropic/haiku (fallback) · main"));
        let ended = AgentEvent::TurnEnded {
            text: String::new(),
            usage: Usage {
                output_tokens: 1500,
                ..Usage::default()
            },
            outcome: "finished".to_owned(),
            error: None,
        };
        let ended = status.follow(&ended, at(20));
        assert_eq!(ended, SessionChange::TurnEnded(Duration::from_secs(20)));
        assert_eq!(line(&status, 99), "plan · sonnet · 1.5k tokens · main");
        assert_eq!(status.activity(at(99)), None);
        status.set_spent(2000, Money::dollars(0.25));
        let with_cost = "plan · sonnet · 2.0k tokens · $0.2500 · main";
        assert_eq!(line(&status, 99), with_cost);
        status.is_coordinator = true;
        assert_eq!(line(&status, 99), format!("coordinator · {with_cost}"));
    }
}

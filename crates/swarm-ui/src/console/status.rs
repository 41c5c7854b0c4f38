//! How a session stands, in one line: what runs, and what it has used.

use std::time::{Duration, Instant};

use swarm_protocol::{AgentEvent, ContextUse, MemberState, PermissionMode};

use crate::print::short_count;
use crate::theme::Theme;

/// The pictures of work under way, one a second.
const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];
const ASCII_SPINNER: [&str; 4] = ["|", "/", "-", "\\"];

/// The state of a session, followed by its events.
#[derive(Debug, Clone)]
pub struct SessionStatus {
    /// The model, at its provider.
    pub model: String,
    /// The permission mode.
    pub mode: PermissionMode,
    /// The branch that is checked out; `None` where there is none.
    pub branch: Option<String>,
    /// How full the context window is; `None` while that is not known.
    pub context: Option<ContextUse>,
    /// Tokens of the turns that have ended.
    pub tokens: u64,
    /// When the turn began, while one is under way.
    turn: Option<Instant>,
    /// The calls under way: id, tool, and when they began.
    calls: Vec<(String, String, Instant)>,
    waits: bool,
}

impl SessionStatus {
    /// A session that has done nothing yet.
    pub fn new(model: String, mode: PermissionMode, branch: Option<String>) -> Self {
        Self {
            model,
            mode,
            branch,
            context: None,
            tokens: 0,
            turn: None,
            calls: Vec::new(),
            waits: false,
        }
    }

    /// Follows an event that happened at `now`. Returns how long the turn took, if the event is its end.
    pub fn follow(&mut self, event: &AgentEvent, now: Instant) -> Option<Duration> {
        match event {
            AgentEvent::TurnStarted => {
                self.turn = Some(now);
                self.calls.clear();
            }
            AgentEvent::ToolStarted { id, tool, .. } => {
                self.calls.push((id.clone(), tool.clone(), now));
            }
            AgentEvent::ToolFinished { id, .. } => self.calls.retain(|(call, ..)| call != id),
            AgentEvent::SubAgentEnded { usage, .. } => self.tokens += usage.total(),
            AgentEvent::Context(used) => self.context = Some(*used),
            AgentEvent::ModeChanged { mode } => self.mode = *mode,
            AgentEvent::ModelChanged { model } => self.model.clone_from(model),
            AgentEvent::State { state, .. } => {
                self.waits = matches!(
                    state,
                    MemberState::WaitingPermission | MemberState::WaitingPlan
                );
            }
            AgentEvent::TurnEnded { usage, .. } => {
                self.tokens += usage.total();
                self.calls.clear();
                let began = self.turn.take()?;
                return Some(now.saturating_duration_since(began));
            }
            _ => {}
        }
        None
    }

    /// Whether a turn is under way, so that the line changes with time.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    /// The line at this moment.
    pub fn line(&self, now: Instant, theme: Theme) -> String {
        let mut parts = Vec::new();
        parts.extend(self.activity(now, theme));
        parts.push(self.mode.to_string());
        parts.push(self.model.clone());
        if let Some(used) = self.context {
            parts.push(format!("context {} %", used.percent()));
        }
        if self.tokens > 0 {
            parts.push(format!("{} tokens", short_count(self.tokens)));
        }
        parts.extend(self.branch.clone());
        parts.join(&format!(" {} ", theme.signs().dot))
    }

    /// What runs, and since when.
    fn activity(&self, now: Instant, theme: Theme) -> Option<String> {
        let turn = self.turn?;
        let seconds = |since: Instant| now.saturating_duration_since(since).as_secs();
        let frames = if theme.unicode {
            SPINNER
        } else {
            ASCII_SPINNER
        };
        let at = usize::try_from(seconds(turn)).unwrap_or_default() % frames.len();
        let frame = frames[at];
        let what = match self.calls.as_slice() {
            _ if self.waits => "waits for an answer".to_owned(),
            [] => format!("working {} s", seconds(turn)),
            [(_, tool, since)] => format!("{tool} {} s", seconds(*since)),
            [(_, tool, since), others @ ..] => {
                format!("{tool} {} s +{}", seconds(*since), others.len())
            }
        };
        Some(format!("{frame} {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarm_protocol::Usage;

    #[test]
    fn the_line_says_what_runs_since_when_and_what_it_has_used() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut status = SessionStatus::new(
            "sonnet".to_owned(),
            PermissionMode::Default,
            Some("main".to_owned()),
        );
        let line = |status: &SessionStatus, seconds| status.line(at(seconds), Theme::PLAIN);
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
        let ended = AgentEvent::TurnEnded {
            text: String::new(),
            usage: Usage {
                output_tokens: 1500,
                ..Usage::default()
            },
            error: None,
        };
        let took = status.follow(&ended, at(20));
        assert_eq!(took, Some(Duration::from_secs(20)));
        assert_eq!(line(&status, 99), "plan · sonnet · 1.5k tokens · main");
    }
}

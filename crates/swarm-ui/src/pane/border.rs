//! State of a member on its pane's border, set as the terminal title.

use swarm_protocol::{AgentEvent, MemberName, MemberState};

use crate::console::BELL;
use crate::pane::request::RequestLine;
use crate::sanitize::clean_line;
use crate::signs::DOT;
use crate::width::fit;

/// Maximum width in columns: a border also contains the name, and panes are narrow.
const LIMIT: usize = 48;

/// Formats a state, such as `working · Bash`; a state that needs a person is in capitals.
fn border_state(state: MemberState, detail: Option<&str>) -> String {
    let detail = clean_line(detail.unwrap_or_default());
    let (word, detail) = if state.needs_answer() {
        ("NEEDS AN ANSWER", RequestLine::parse(&detail).what)
    } else {
        (state.name(), detail.as_str())
    };
    let words = if detail.is_empty() {
        word.to_owned()
    } else {
        format!("{word}{DOT}{detail}")
    };
    fit(&words, LIMIT)
}

/// The title that follows a member's events: its name, its state, and the running tool.
///
/// The member itself sets the terminal title: that works on any backend and under any lead, and
/// costs nothing while nothing changes.
#[derive(Debug)]
pub(super) struct BorderTitle {
    name: MemberName,
    state: MemberState,
    detail: Option<String>,
    /// Running calls, by id and tool.
    calls: Vec<(String, String)>,
    told: String,
    /// Whether to ring when a person is needed.
    bell: bool,
}

impl BorderTitle {
    pub(super) fn new(name: MemberName, bell: bool) -> Self {
        Self {
            name,
            state: MemberState::Starting,
            detail: None,
            calls: Vec::new(),
            told: String::new(),
            bell,
        }
    }

    /// Handles an event and returns the sequence to send if the title changes.
    pub(super) fn follow(&mut self, event: &AgentEvent) -> Option<String> {
        let mut rings = false;
        match event {
            AgentEvent::State { state, detail } => {
                rings = self.bell && state.needs_answer();
                self.state = *state;
                self.detail.clone_from(detail);
            }
            AgentEvent::ToolStarted { id, tool, .. } => {
                self.calls.push((id.clone(), tool.clone()));
            }
            AgentEvent::ToolFinished { id, .. } => self.calls.retain(|(call, _)| call != id),
            AgentEvent::TurnEnded { .. } => self.calls.clear(),
            _ => return None,
        }
        let mut sequence = self.changed_sequence()?;
        if rings {
            sequence.push(BELL);
        }
        Some(sequence)
    }

    /// Returns the sequence that sets the title, unless it is already set.
    pub(super) fn changed_sequence(&mut self) -> Option<String> {
        let tool = self.calls.last().map(|(_, tool)| tool.as_str());
        let detail = match self.state {
            MemberState::Working => self.detail.as_deref().or(tool),
            _ => self.detail.as_deref(),
        };
        let title = format!("{}{DOT}{}", self.name, border_state(self.state, detail));
        if title == self.told {
            return None;
        }
        // Status lines and borders of tmux interpret `#[…]` as a style, and some formats execute
        // `#(…)`.
        let sequence = format!("\u{1b}]2;{}\u{7}", title.replace('#', "\u{ff03}"));
        self.told = title;
        Some(sequence)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn title(name: &str) -> BorderTitle {
        BorderTitle::new(MemberName::parse(name).unwrap(), false)
    }

    fn state(state: MemberState, detail: &str) -> AgentEvent {
        AgentEvent::State {
            state,
            detail: (!detail.is_empty()).then(|| detail.to_owned()),
        }
    }

    fn started(id: &str, tool: &str) -> AgentEvent {
        AgentEvent::ToolStarted {
            id: id.to_owned(),
            tool: tool.to_owned(),
            line: String::new(),
        }
    }

    fn finished(id: &str) -> AgentEvent {
        AgentEvent::ToolFinished {
            id: id.to_owned(),
            tool: String::new(),
            ok: true,
            line: String::new(),
            detail: Vec::new(),
        }
    }

    #[test]
    fn the_terminal_rings_once_for_each_question_unless_a_setting_says_otherwise() {
        let asks = |what| state(MemberState::WaitingPermission, what);
        let rings = |title: &mut BorderTitle, event: &AgentEvent| {
            let sequence = title.follow(event).unwrap_or_default();
            sequence.matches(BELL).count() == 2
        };
        let mut loud = BorderTitle::new(MemberName::parse("bob").unwrap(), true);
        assert!(!rings(&mut loud, &state(MemberState::Working, "")));
        assert!(rings(&mut loud, &asks("Bash make")));
        assert!(!rings(&mut loud, &asks("Bash make")), "the same question");
        assert!(rings(&mut loud, &asks("Bash make test")));
        assert!(!rings(&mut loud, &state(MemberState::Idle, "")));
        assert!(!rings(&mut title("bob"), &asks("Bash make")));
    }

    #[test]
    fn a_border_shows_a_short_sanitized_state() {
        assert_eq!(border_state(MemberState::Idle, None), "idle");
        assert_eq!(
            border_state(MemberState::Working, Some("Bash\u{1b}]0;x\u{7}")),
            "working · Bash␛]0;x␇"
        );
        assert_eq!(
            border_state(
                MemberState::WaitingPermission,
                Some("perm-1795195848228-r6huwgp: Bash cargo publish")
            ),
            "NEEDS AN ANSWER · Bash cargo publish"
        );
        let long = border_state(MemberState::Parked, Some(&"because ".repeat(20)));
        assert!(crate::width::columns(&long) <= LIMIT && long.ends_with('…'));
    }

    #[test]
    fn the_title_follows_the_events() {
        let mut title = title("bob");
        let steps = [
            (state(MemberState::Idle, ""), Some("bob · idle")),
            (state(MemberState::Idle, ""), None),
            (state(MemberState::Working, ""), Some("bob · working")),
            (started("1", "Read"), Some("bob · working · Read")),
            (started("2", "Bash"), Some("bob · working · Bash")),
            (finished("2"), Some("bob · working · Read")),
            (
                state(
                    MemberState::WaitingPermission,
                    "perm-1795195848228-r6huwgp: Bash rm x",
                ),
                Some("bob · NEEDS AN ANSWER · Bash rm x"),
            ),
            (finished("1"), None),
            (AgentEvent::TurnStarted, None),
        ];
        for (event, expected) in steps {
            let expected = expected.map(|words| format!("\u{1b}]2;{words}\u{7}"));
            assert_eq!(title.follow(&event), expected, "{event:?}");
        }
    }

    proptest! {
        /// For any detail the sequence is terminated correctly, and no tmux format contains a `#`.
        #[test]
        fn no_detail_terminates_the_sequence_or_reaches_a_format(detail in "(\\x1b|\\x07|\\x9c|#|\\(|\\[|\\PC|\\pC){0,60}") {
            let mut title = title("bob");
            if let Some(sequence) = title.follow(&state(MemberState::Parked, &detail)) {
                let body = sequence.strip_prefix("\u{1b}]2;").and_then(|rest| rest.strip_suffix('\u{7}'));
                let body = body.expect("one sequence");
                prop_assert!(!body.chars().any(char::is_control));
                prop_assert!(!body.contains('#'));
            }
        }
    }
}

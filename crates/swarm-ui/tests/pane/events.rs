//! Constructors of events, and the resulting pane.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::{AgentEvent, Color, MemberName, MemberState, PermissionMode, TeamName, Usage};
use swarm_ui::{PaneHeader, PaneView, Theme};

pub(crate) fn header() -> PaneHeader {
    PaneHeader {
        name: MemberName::parse("explorer").unwrap(),
        team: Some(TeamName::parse("demo").unwrap()),
        color: Some(Color::Blue),
        model: "scripted//srv/play/demo.toml".to_owned(),
        mode: PermissionMode::AcceptEdits,
        cwd: PathBuf::from("/home/dev/calc"),
        home: Some(PathBuf::from("/home/dev")),
    }
}

pub(crate) fn words(text: &str) -> Vec<AgentEvent> {
    let pieces = text.split_inclusive(' ').map(|word| AgentEvent::TextDelta {
        text: word.to_owned(),
    });
    let done = AgentEvent::MessageDone {
        text: text.to_owned(),
    };
    pieces.chain([done]).collect()
}

pub(crate) fn started(id: &str, line: &str) -> AgentEvent {
    AgentEvent::ToolStarted {
        id: id.to_owned(),
        tool: line.split(' ').next().unwrap().to_owned(),
        line: line.to_owned(),
    }
}

pub(crate) fn finished(id: &str, ok: bool, line: &str) -> AgentEvent {
    AgentEvent::ToolFinished {
        id: id.to_owned(),
        tool: String::new(),
        ok,
        line: line.to_owned(),
        detail: Vec::new(),
    }
}

pub(crate) fn state(state: MemberState, detail: Option<&str>) -> AgentEvent {
    AgentEvent::State {
        state,
        detail: detail.map(str::to_owned),
    }
}

pub(crate) fn mail(from: &str, color: Option<&str>, line: &str) -> AgentEvent {
    AgentEvent::MailIn {
        from: from.to_owned(),
        color: color.map(str::to_owned),
        line: line.to_owned(),
        more: None,
    }
}

pub(crate) fn turn_ended(tokens: u64, error: Option<&str>) -> AgentEvent {
    AgentEvent::TurnEnded {
        text: String::new(),
        usage: Usage {
            input_tokens: tokens,
            ..Usage::default()
        },
        outcome: "finished".to_owned(),
        error: error.map(str::to_owned),
    }
}

/// A screen that can be inspected while it is written to.
#[derive(Clone, Default)]
pub(crate) struct Screen(Arc<Mutex<Vec<u8>>>);

impl Screen {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the content of a pane after these events.
pub(crate) fn drawn(theme: Theme, events: &[AgentEvent]) -> String {
    let screen = Screen::default();
    let mut view = PaneView::new(screen.clone(), theme, &header());
    for event in events {
        view.event(event);
    }
    drop(view);
    screen.text()
}

/// Removes swarm's own sequences: `ESC [ digits and semicolons m`.
pub(crate) fn strip_sgr(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut bare = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (parameters, rest) = piece.split_once('m').unwrap();
        assert!(
            parameters.bytes().all(|b| b.is_ascii_digit() || b == b';'),
            "{parameters:?}"
        );
        bare.push_str(rest);
    }
    bare
}

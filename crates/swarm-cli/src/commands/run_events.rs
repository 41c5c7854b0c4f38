//! What a run shows while it goes on.

use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, PoisonError};

use swarm_engine::EventSink;
use swarm_protocol::{AgentEvent, Color, MemberName};
use swarm_supervisor::Deployment;
use swarm_ui::{PaneHeader, PaneView, Theme};

use crate::app::App;
use crate::output::{Output, terminal_width};

/// The lead's work, drawn on stderr as in a teammate's pane.
pub(super) struct LiveView(Option<Mutex<PaneView<Box<dyn Write + Send>>>>);

impl std::fmt::Debug for LiveView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LiveView").finish()
    }
}

impl LiveView {
    pub(super) fn new(app: &App, deployment: &Deployment) -> Self {
        if app.out.quiet || app.out.json {
            return Self(None);
        }
        let theme = Theme {
            color: app.env.color(io::stderr().is_terminal()),
            ..Theme::PLAIN
        };
        let header = PaneHeader {
            name: MemberName::lead(),
            color: Some(Color::Red),
            team: None,
            model: deployment.model.clone(),
            mode: deployment.mode,
            cwd: deployment.cwd.clone(),
            home: app.env.home(),
        };
        let out: Box<dyn Write + Send> = Box::new(io::stderr());
        let width = Box::new(|| terminal_width(io::stderr()));
        let view = PaneView::measured(out, theme, width, &header);
        Self(Some(Mutex::new(view)))
    }
}

impl EventSink for LiveView {
    fn emit(&self, event: AgentEvent) {
        if let Some(view) = &self.0 {
            view.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .event(&event);
        }
    }
}

/// One JSON line for each event.
#[derive(Debug)]
pub(super) struct StreamJson(pub(super) Output);

impl EventSink for StreamJson {
    fn emit(&self, event: AgentEvent) {
        if let Err(failure) = self.0.json_line(&event) {
            tracing::debug!(message = failure.message, "event not printed");
        }
    }
}

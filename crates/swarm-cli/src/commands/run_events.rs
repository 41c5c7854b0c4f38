//! What a run shows while it goes on.

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;

use swarm_engine::{EventSink, NoEvents};
use swarm_member::PaneSink;
use swarm_protocol::{AgentEvent, Color, MemberName};
use swarm_supervisor::Deployment;
use swarm_ui::{PaneHeader, PaneView, Theme};

use crate::app::App;
use crate::output::{Output, terminal_width};

/// The lead's work, drawn on stderr as in a teammate's pane.
pub(super) fn live_view(app: &App, deployment: &Deployment) -> Arc<dyn EventSink> {
    if app.out.quiet || app.out.json {
        return Arc::new(NoEvents);
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
    Arc::new(PaneSink::new(PaneView::measured(
        out, theme, width, &header,
    )))
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

//! The display of a run while it is running.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use swarm_agent::{EventSink, NoEvents};
use swarm_member::PaneSink;
use swarm_protocol::{AgentEvent, MemberName};
use swarm_supervisor::SpawnContext;
use swarm_ui::{PaneHeader, PaneView, Theme};

use super::report::OutputFormat;
use super::terminal::LeadTerminal;
use crate::app::App;
use crate::output::{Output, terminal_width};

/// Returns how the lead's work is drawn on stderr; `None` if it is not.
pub(super) fn view_theme(app: &App, output: OutputFormat) -> Option<Theme> {
    let is_drawn = output != OutputFormat::StreamJson && !app.out.quiet && !app.out.json;
    is_drawn.then(|| Theme {
        color: app.env.color(io::stderr().is_terminal()),
        ..Theme::PLAIN
    })
}

/// The sink of a run's events: drawn on the terminal as in a teammate's pane, printed as JSON, or
/// discarded.
pub(super) fn events(
    app: &App,
    output: OutputFormat,
    spawn_context: &SpawnContext,
    terminal: &LeadTerminal,
) -> Arc<dyn EventSink> {
    if output == OutputFormat::StreamJson {
        return Arc::new(StreamJson(app.out));
    }
    let Some(theme) = view_theme(app, output) else {
        return Arc::new(NoEvents);
    };
    let header = PaneHeader {
        name: MemberName::lead(),
        color: None,
        team: None,
        model: spawn_context.model.clone(),
        mode: spawn_context.mode,
        cwd: spawn_context.cwd.clone(),
        home: app.env.home(),
    };
    let width = Box::new(|| terminal_width(io::stderr()));
    Arc::new(PaneSink::new(PaneView::measured(
        terminal.screen(),
        theme,
        width,
        &header,
    )))
}

/// Prints a JSON line for each event.
#[derive(Debug)]
struct StreamJson(Output);

impl EventSink for StreamJson {
    fn emit(&self, event: AgentEvent) {
        if let Err(failure) = self.0.json_line(&event) {
            tracing::debug!(message = failure.message, "event not printed");
        }
    }
}

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
use crate::links::linker;
use crate::output::{Output, terminal_width};

/// Returns how the lead's work is drawn on stderr; `None` if it is not.
pub(super) fn view_theme(app: &App, output: OutputFormat) -> Option<Theme> {
    let is_drawn = output != OutputFormat::StreamJson && !app.out.quiet && !app.out.json;
    is_drawn.then(|| Theme {
        color: app.env.color(io::stderr().is_terminal()),
        ..Theme::PLAIN
    })
}

/// Whether a lead works without a screen: for a screen reader, or on a terminal without cursor
/// control.
pub(super) fn is_plain(app: &App) -> bool {
    app.settings.plain || app.env.get("TERM") == Some("dumb")
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
        model: spawn_context.runtime.model.clone(),
        mode: spawn_context.permissions.mode,
        cwd: spawn_context.workspace.cwd.clone(),
        home: app.env.home(),
    };
    let width = Box::new(|| terminal_width(io::stderr()));
    let view = PaneView::measured(terminal.screen(), theme, width, &header);
    let is_linked = theme.color && io::stderr().is_terminal();
    let links = linker(&app.env, &spawn_context.workspace.cwd).filter(|_| is_linked);
    Arc::new(PaneSink::new(match links {
        Some(links) => view.linked(links),
        None => view,
    }))
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

//! Runs a lead on its console: a terminal, a printed report, or a client of the Agent Client
//! Protocol.

use std::io;
use std::sync::Arc;

use swarm_member::{LeadParts, RunReport, run_lead};
use swarm_protocol::{ErrorKind, LEAD_NAME};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::client::{ClientSession, attach};
use super::interrupts::Interrupts;
use super::kept_choices::ChoicesKeeper;
use super::person_shell::ShellLines;
use super::report::OutputFormat;
use super::terminal::{LeadTerminal, RestoreAtEnd};
use super::typist::{lead_sandbox, read_terminal, wait_for_answers};
use super::view::{events, is_plain, view_theme};
use crate::app::App;
use crate::commands::detach::Detached;
use crate::commands::{EndSignals, runtime};
use crate::failure::{Failure, Result};
use crate::output_style::output_style;
use crate::team_hooks::TeamHooks;
use crate::window_fit;
use crate::window_mark::WindowMark;

/// Where a lead shows its work and reads input.
#[derive(Debug, Clone)]
pub(in crate::commands) enum LeadConsole {
    /// The terminal, or a file.
    Terminal(OutputFormat),
    /// A client of the Agent Client Protocol.
    Client(Arc<ClientSession>),
}

impl Default for LeadConsole {
    fn default() -> Self {
        Self::Terminal(OutputFormat::Text)
    }
}

/// Runs a lead until it stops. Orphaned processes of its shell become children of this process
/// instead of init, so that they can be attributed to it.
pub(in crate::commands) fn execute_lead(
    app: &App,
    mut parts: LeadParts,
    console: &LeadConsole,
    prompt: Option<String>,
) -> Result<RunReport> {
    parts.instructions.extend(output_style(app)?);
    let detached = Detached::leave_terminal(app, &parts)?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(io::Error::from)?;
    let runtime = runtime()?;
    let hooks = TeamHooks::new(app)?.in_sandbox_of(lead_sandbox(app, &parts));
    let lines = Arc::<ShellLines>::default();
    let report = runtime.block_on(async {
        match console {
            LeadConsole::Terminal(output) => {
                let output = (*output, detached);
                Box::pin(in_terminal(app, parts, hooks, output, &lines, prompt)).await
            }
            LeadConsole::Client(session) => {
                attach(session, app, &mut parts, &lines)?;
                Box::pin(lead(parts, hooks, prompt)).await
            }
        }
    });
    lines.end();
    // Threads that wait for a member to stop end with the process.
    runtime.shutdown_background();
    report
}

/// Runs a lead with its terminal and signal handling.
async fn in_terminal(
    app: &App,
    mut parts: LeadParts,
    hooks: TeamHooks,
    (output, detached): (OutputFormat, Option<Detached>),
    lines: &Arc<ShellLines>,
    prompt: Option<String>,
) -> Result<RunReport> {
    // Signal handlers come first: an unhandled signal would leave the terminal in raw mode.
    let signals = EndSignals::listen()?;
    let terminal = match view_theme(app, output) {
        Some(_) if is_plain(app) => LeadTerminal::begin_plain()?,
        theme => LeadTerminal::begin(theme, &format!("{LEAD_NAME} > "))?,
    };
    let _restored = RestoreAtEnd(terminal.clone());
    parts.events = events(app, output, &parts.spawn_context, &terminal);
    if let Some(detached) = detached {
        parts.events = detached.reporting(parts.events);
        wait_for_answers(app, &mut parts);
    }
    let end = Arc::new(Notify::new());
    let typist = read_terminal(app, &mut parts, &terminal, &end, lines)?;
    let window = typist
        .as_ref()
        .map_or_else(WindowMark::default, |it| it.window.clone());
    let interrupts = Interrupts {
        stops: parts.stops.clone(),
        view: view_theme(app, output).map(|_| Arc::clone(&parts.events)),
        quiet: app.out.quiet,
        turn: (typist.as_ref().filter(|_| parts.is_interactive))
            .map(|typist| typist.commands.lead.clone()),
        terminal: terminal.clone(),
    };
    let spawn_context = &parts.spawn_context;
    window_fit::follow_as_lead(&spawn_context.terminal, spawn_context.backend.place)?;
    tokio::spawn(interrupts.follow(signals, end));
    let typist = typist.filter(|_| parts.is_interactive);
    let prompt = match typist.clone() {
        Some(typist) => prompt.and_then(|prompt| typist.take_command(prompt)),
        None => prompt,
    };
    let report = Box::pin(lead(parts, hooks, prompt)).await;
    window.end().await;
    if let (Some(typist), Some(console)) = (typist, terminal.console()) {
        let unsent = typist.queue.unsent(&console.text());
        typist.commands.keep_draft(&unsent);
    }
    report
}

/// Runs a lead whose console is ready.
async fn lead(mut parts: LeadParts, hooks: TeamHooks, prompt: Option<String>) -> Result<RunReport> {
    let keeper = ChoicesKeeper::begin(&mut parts);
    let done = CancellationToken::new();
    let kept = tokio::spawn(hooks.keep(done.clone()));
    let stop = parts.stops.stop.clone();
    let report = run_lead(parts, prompt).await;
    if let Ok(report) = &report {
        keeper.end(&report.model);
    }
    done.cancel();
    if let Err(error) = kept.await {
        tracing::error!(%error, "team hooks failed");
    }
    report.map_err(|error| {
        // A stopped lead does not wait for locks.
        let is_interrupted = stop.is_cancelled() && error.is_lock_timeout();
        let failure = Failure::from(error);
        if is_interrupted {
            Failure {
                kind: ErrorKind::Interrupted,
                ..failure
            }
        } else {
            failure
        }
    })
}

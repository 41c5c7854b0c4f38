//! `swarm run`: the headless team lead.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use swarm_lead::{LeadParts, Outcome, RunReport, run_headless};
use swarm_protocol::SessionId;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::run_events::{LiveView, StreamJson};
use crate::app::App;
use crate::args::{OutputFormat, RunArgs};
use crate::deployment::{Choices, deployment};
use crate::failure::Failure;
use crate::identity::Acting;
use crate::models;
use crate::output::Output;
use crate::teammate_entry::platform;

pub(super) fn run(app: &App, args: &RunArgs) -> Result<ExitCode, Failure> {
    Acting::find(&*app.store, app.env.get("SWARM_SPAWN_ID").is_some())?.require_person("run")?;
    let prompt = prompt(&args.prompt)?;
    let choices = Choices {
        model: args.model.clone(),
        mode: args.mode,
        backend: args.backend.clone(),
    };
    let (deployment, permissions) = deployment(app, &choices)?;
    let model = models::client(&deployment.model, &deployment.provider, deployment.pace)?;
    let output = if app.out.json {
        OutputFormat::Json
    } else {
        args.output
    };
    let parts = LeadParts {
        home: app.env.home(),
        session: SessionId::random(),
        team: app.asked_team()?,
        model,
        rules: permissions.rules,
        events: match output {
            OutputFormat::StreamJson => Arc::new(StreamJson(app.out)),
            _ => Arc::new(LiveView::new(app, &deployment)),
        },
        platform: platform(),
        instructions: Vec::new(),
        max_requests: args.max_turns.unwrap_or(app.settings.max_requests),
        timeout: args.timeout.map(Duration::from_secs),
        remove_team: args.rm,
        stop: CancellationToken::new(),
        kill: CancellationToken::new(),
        deployment,
    };
    let runtime = super::runtime()?;
    let report = runtime.block_on(async {
        tokio::spawn(interrupts(app.out, parts.stop.clone(), parts.kill.clone()));
        run_headless(parts, prompt).await
    });
    // Threads that wait for a member's death end with the process.
    runtime.shutdown_background();
    let report = report?;
    if let Some(path) = &args.report {
        let bytes = serde_json::to_vec(&report).map_err(anyhow::Error::from)?;
        swarm_fs::replace_alone(&app.env.cwd.join(path), &bytes).map_err(anyhow::Error::from)?;
    }
    show(app, output, &report)
}

fn prompt(given: &str) -> Result<String, Failure> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text)?;
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").with_hint("say what is to be done"));
    }
    Ok(text)
}

/// Ctrl-C once: an orderly end. Twice: an end now. A terminal that closes and SIGTERM count like Ctrl-C.
async fn interrupts(
    out: Output,
    stop: CancellationToken,
    kill: CancellationToken,
) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        if stop.is_cancelled() {
            kill.cancel();
            return Ok(());
        }
        out.say("swarm: ending the team in order; Ctrl-C again kills it");
        stop.cancel();
    }
}

fn show(app: &App, output: OutputFormat, report: &RunReport) -> Result<ExitCode, Failure> {
    match output {
        OutputFormat::Text => {
            app.out.data(report.result.trim_end())?;
            for line in summary(report) {
                app.out.say(&line);
            }
        }
        OutputFormat::Json => app.out.json(report)?,
        OutputFormat::StreamJson => {
            let mut line = serde_json::to_value(report).map_err(anyhow::Error::from)?;
            line["type"] = serde_json::json!("result");
            app.out.json_line(&line)?;
        }
    }
    Ok(match report.outcome.error_kind() {
        None => ExitCode::SUCCESS,
        Some(kind) => ExitCode::from(kind.exit_code().0),
    })
}

fn summary(report: &RunReport) -> Vec<String> {
    let mut lines = Vec::new();
    if report.outcome != Outcome::Completed {
        lines.push(format!("swarm: {}", report.outcome.sentence()));
    }
    for task in &report.tasks {
        let owner = task
            .owner
            .as_deref()
            .map_or_else(String::new, |owner| format!(" ({owner})"));
        lines.push(format!(
            "  #{} [{}] {}{owner}",
            task.id,
            task.state.name(),
            task.subject
        ));
    }
    for member in &report.members {
        lines.push(format!(
            "  {}: {}, {} turns, {} tokens",
            member.name,
            member.end,
            member.turns,
            member.usage.total()
        ));
    }
    let seconds = report.duration_ms / 1000;
    let tenths = report.duration_ms % 1000 / 100;
    let team = report
        .team
        .as_ref()
        .map_or_else(String::new, |team| format!("team {team}, "));
    lines.push(format!(
        "swarm: {team}{} tokens, {seconds}.{tenths} s",
        report.usage.total()
    ));
    lines
}

//! The final report of a lead.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use swarm_member::{Outcome, RunReport};
use swarm_protocol::Usage;

use crate::app::App;
use crate::failure::{Result, exit_code};
use crate::output::plain;

/// Prints the report of a run and returns its exit code. `is_drawn` says that the lead's work and
/// stdout are the same file.
pub(in crate::commands) fn show(
    app: &App,
    output: OutputFormat,
    report: &RunReport,
    is_drawn: bool,
) -> Result<ExitCode> {
    match output {
        OutputFormat::Text => {
            // If the lead's work is drawn on the same screen, the report is already there.
            let is_screen = io::stdout().is_terminal() && io::stderr().is_terminal();
            if let Some(output) = &report.structured_output {
                app.out.json(output)?;
            } else if !report.result.trim_end().is_empty()
                && (app.out.quiet || !(is_drawn || is_screen))
            {
                app.out.data(&plain(report.result.trim_end()))?;
            }
            if app.out.quiet
                && let Some(line) = failure_line(report)
            {
                app.out.warn(&line);
            }
            for line in summary(report) {
                app.out.say(&line);
            }
        }
        OutputFormat::Json => app.out.json(report)?,
        OutputFormat::StreamJson => {
            let mut line = serde_json::to_value(report)?;
            line["type"] = serde_json::json!("result");
            app.out.json_line(&line)?;
        }
    }
    Ok(exit_code(report.error_kind()))
}

pub(super) fn summary(report: &RunReport) -> Vec<String> {
    let mut lines: Vec<String> = failure_line(report).into_iter().collect();
    if let Some(why) = &report.stop_reason {
        lines.push(format!("swarm: a Stop hook ended the lead's turn: {why}"));
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
    for left in report.worktrees.iter().filter(|left| left.kept) {
        lines.push(format!("  {}", left.sentence()));
    }
    for member in &report.members {
        let end = match member.end.as_str() {
            "approved" => "shut down",
            other => other,
        };
        lines.push(format!(
            "  {}: {end}, {}{}",
            member.name,
            swarm_ui::print::counted(member.turns, "turn"),
            tokens(member.usage)
        ));
    }
    if let Some(why) = &report.unrecorded {
        lines.push(unrecorded(report, why));
    }
    if let Some(team) = report.team.as_ref().filter(|_| waits_for_lead(report)) {
        lines.push(format!(
            "swarm: the team is waiting for a lead: `swarm resume {team} PROMPT` continues it, `swarm shutdown --all --team {team}` stops it"
        ));
    }
    let seconds = report.duration_ms / 1000;
    let tenths = report.duration_ms % 1000 / 100;
    let team = report
        .team
        .as_ref()
        .map_or_else(String::new, |team| format!("team {team}, "));
    lines.push(format!(
        "swarm: {team}{seconds}.{tenths} s{}{}",
        tokens(report.usage),
        cost(report)
    ));
    lines
}

/// Says why the run did not succeed.
fn failure_line(report: &RunReport) -> Option<String> {
    (report.outcome != Outcome::Completed).then(|| format!("swarm: {}", report.outcome.sentence()))
}

/// Returns whether members keep running that another lead can take over.
fn waits_for_lead(report: &RunReport) -> bool {
    let is_left = |member: &swarm_member::MemberLine| member.end == "alive";
    report.outcome == Outcome::TimedOut && report.members.iter().any(is_left)
}

/// Says that the end of the run is not recorded, and what records it: the process of a lead that failed
/// stays in the roster until another one takes over.
fn unrecorded(report: &RunReport, why: &str) -> String {
    let what = format!("swarm: the end of the run is not recorded ({why})");
    match (&report.outcome, &report.team) {
        (Outcome::LeadFailed(_), Some(team)) => format!("{what}; `swarm resume {team}` records it"),
        _ => format!("{what}; the next command for the team records it"),
    }
}

/// Formats the token count; empty if the server reported none, since 0 would suggest that the run
/// was free.
fn tokens(usage: Usage) -> String {
    match usage.total() {
        0 => String::new(),
        total => format!(", {total} tokens"),
    }
}

/// Formats the cost of a run; empty if no request had a price.
fn cost(report: &RunReport) -> String {
    match (report.usd, report.unpriced_tokens) {
        (None, _) => String::new(),
        (Some(usd), 0) => format!(", {usd}"),
        (Some(usd), unpriced) => {
            format!(", {usd} without {unpriced} tokens of models without a price")
        }
    }
}

/// What `run` prints on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// The lead's final report.
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON line per event, then the document.
    StreamJson,
}

pub(in crate::commands) fn output_format(app: &App, asked: OutputFormat) -> OutputFormat {
    match asked {
        OutputFormat::Text if app.out.json => OutputFormat::Json,
        asked => asked,
    }
}

//! Text form of a status.

use swarm_protocol::with_commas;
use swarm_team::check_line;
use swarm_ui::print::{counted, short_count};
use swarm_ui::{Theme, clean_line};

use super::gather::Status;
use super::roster;
use crate::app::App;
use crate::commands::team::{ENDED, how_to_continue};
use crate::commands::worktree::collision_line;
use crate::commands::{requests, task};
use crate::output::plain;

/// Formats heading, pending requests, members and tasks, separated by empty lines. If they exceed
/// `height`, idle members and similar parts are shortened.
pub(super) fn text(app: &App, status: &Status, theme: Theme, height: Option<usize>) -> String {
    let full = compose(app, status, theme, false);
    match height {
        Some(height) if full.lines().count() > height => compose(app, status, theme, true),
        _ => full,
    }
}

fn compose(app: &App, status: &Status, theme: Theme, brief: bool) -> String {
    let mut top = heading(status) + &advice(status) + &budgets(status);
    if brief {
        top = top + &counts(status) + &roster::quiet(status);
    }
    let mut parts = vec![plain(&top)];
    // Pending requests come first, because the end may be cut off.
    if !status.requests.is_empty() {
        parts.push(plain(&waiting(status, app.command_prefix())));
    }
    let damaged = status.damaged.iter();
    let damaged = damaged.map(|line| format!("damaged: {line}\n"));
    parts.push(plain(&damaged.collect::<String>()));
    let undelivered = status.undelivered.iter().map(|line| format!("{line}\n"));
    parts.push(plain(&undelivered.collect::<String>()));
    let forecast = status.collisions.iter();
    let forecast = forecast.map(|one| format!("forecast: {}\n", collision_line(one)));
    parts.push(forecast.collect());
    if let Some(why) = &status.unentered {
        parts.push(plain(&format!("{why}\n")));
    }
    parts.push(roster::text(status, app.clock.now(), theme, brief));
    parts.push(tasks(status, theme, brief));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn heading(status: &Status) -> String {
    let config = &status.config;
    let lead = match (status.state, &config.lead_process) {
        ("led", Some(lead)) => format!("led by process {}", lead.pid),
        ("led", None) => "led by a process".to_owned(),
        ("orphaned", _) => "its lead is lost".to_owned(),
        (ENDED, _) => "its lead session has ended".to_owned(),
        ("foreign", _) => "created by another program".to_owned(),
        _ => "led manually".to_owned(),
    };
    let total = &status.spending.total;
    let tokens = short_count(total.usage.total());
    let cost = if total.requests == 0 {
        String::new()
    } else {
        format!(", {total}")
    };
    let about = config
        .description
        .as_ref()
        .map_or_else(String::new, |about| format!(": {about}"));
    let line = format!("team {}, {lead}, {tokens} tokens{cost}{about}", config.name);
    clean_line(&line) + "\n"
}

/// Lists the budgets of which more than half is used.
fn budgets(status: &Status) -> String {
    let near = status.budgets.iter().filter(|used| used.percent() >= 50);
    let lines =
        near.map(|used| format!("budget of {}: {used} ({} %)\n", used.scope, used.percent()));
    lines.collect()
}

/// Returns the hint for a lead that is lost or has ended.
fn advice(status: &Status) -> String {
    let team = &status.config.name;
    if status.state == ENDED {
        return how_to_continue(team) + "\n";
    }
    if status.state != "orphaned" {
        return String::new();
    }
    format!(
        "take it over with `swarm resume {team}`, let a lead carry on with `swarm lead --continue --team {team}` or \
         `swarm run --continue --team {team} PROMPT`, or end it with `swarm team delete {team} --force`\n"
    )
}

/// Counts the tasks per state.
fn counts(status: &Status) -> String {
    let counts = status.counts().into_iter();
    let counts = counts.filter(|(_, count)| *count > 0);
    let counts = with_commas(counts.map(|(state, count)| format!("{count} {}", state.name())));
    if counts.is_empty() {
        return "no tasks\n".to_owned();
    }
    format!("tasks: {counts}\n")
}

/// Lists open tasks; if space is short, their count comes first.
fn tasks(status: &Status, theme: Theme, brief: bool) -> String {
    let mut text = if brief { String::new() } else { counts(status) };
    let table = task::table(status.open_tasks(), &status.tasks);
    if !table.is_empty() {
        text += &table.render(theme);
    }
    if brief { text } else { text + &checks(status) }
}

/// Lists the checks of open tasks with their authors and last results.
fn checks(status: &Status) -> String {
    let lines = status.open_tasks().flat_map(|task| {
        let checks = task.checks();
        let line = |check| format!("check of #{}: {}", task.id, check_line(check));
        checks.iter().map(line).collect::<Vec<_>>()
    });
    lines.map(|line| clean_line(&line) + "\n").collect()
}

fn waiting(status: &Status, prefix: &str) -> String {
    let requests = status.requests.iter();
    let lines = requests.map(|request| {
        let ignored = status.ignored_answer(&request.id);
        let ignored = ignored.map(|why| format!("\n{}", requests::ignored_answer(why)));
        requests::in_short(request, prefix) + &ignored.unwrap_or_default()
    });
    let lines: Vec<String> = lines.collect();
    let count = counted(lines.len() as u64, "question");
    format!("{count} for you:\n{}\n", lines.join("\n"))
}

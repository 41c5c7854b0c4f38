//! A status as people read it.

use swarm_protocol::{PaneId, TaskStatus, UnixMs};
use swarm_store::MemberView;
use swarm_ui::Theme;
use swarm_ui::print::{Cell, Table, short_count};

use super::gather::{Status, TASK_STATES};
use crate::app::App;
use crate::commands::members::{age, is_over, since, state_cell};
use crate::commands::{requests, task};

/// Heading, members, requests and tasks, with an empty line between them.
pub(super) fn text(app: &App, status: &Status, theme: Theme) -> String {
    let now = app.clock.now();
    let mut parts = vec![heading(status), roster(status, now).render(theme)];
    // Whoever waits for a person stands above what may be cut off at the end.
    if !status.requests.is_empty() {
        parts.push(waiting(status));
    }
    parts.push(tasks(status, theme));
    parts.join("\n")
}

fn heading(status: &Status) -> String {
    let config = &status.config;
    let lead = match (status.state, &config.lead_process) {
        ("led", Some(lead)) => format!("led by process {}", lead.pid),
        ("led", None) => "led by a process".to_owned(),
        ("orphaned", _) => "its lead has died".to_owned(),
        _ => "driven by hand".to_owned(),
    };
    let tokens = short_count(status.usage().total());
    let about = config
        .description
        .as_ref()
        .map_or_else(String::new, |about| format!(": {about}"));
    let line = format!("team {}, {lead}, {tokens} tokens{about}", config.name);
    swarm_ui::clean_line(&line) + "\n"
}

fn roster(status: &Status, now: UnixMs) -> Table {
    let mut table = Table::new([
        "MEMBER", "STATE", "FOR", "PANE", "UNREAD", "TASK", "TOKENS", "MODEL", "DOING",
    ])
    .right(2)
    .right(4)
    .right(6);
    for view in &status.members {
        let report = view.report.as_ref();
        let since = since(view).map_or_else(String::new, |since| age(now, since));
        let tokens = report.map_or(0, |report| report.usage.total());
        let unread = match view.unread {
            0 => Cell::new("0").dim(),
            count => Cell::new(count.to_string()),
        };
        table.row([
            Cell::name(&view.member.name, view.member.known_color()),
            state_cell(view),
            Cell::new(since),
            Cell::new(pane(&view.member.tmux_pane_id)),
            unread,
            Cell::new(at_work_on(status, view)),
            Cell::new(short_count(tokens)),
            Cell::new(view.member.model.as_deref().unwrap_or_default()),
            Cell::new(detail(status, view)),
        ]);
    }
    table
}

/// The pane's number in tmux; the ids of members without a terminal say nothing to people.
fn pane(id: &PaneId) -> &str {
    match id.as_str() {
        text if text.starts_with('%') => text,
        text if text.starts_with("headless") => "headless",
        _ => "",
    }
}

fn at_work_on(status: &Status, view: &MemberView) -> String {
    let id = view.member.id_in(&status.config.name);
    let tasks = status.tasks.tasks.iter();
    let ids: Vec<String> = tasks
        .filter(|task| task.status == TaskStatus::InProgress && task.is_owned_by(&id))
        .map(|task| format!("#{}", task.id))
        .collect();
    ids.join(" ")
}

fn detail(status: &Status, view: &MemberView) -> String {
    if is_over(view.state) {
        let reason = status.death(&view.member.name);
        return reason.unwrap_or_default().to_owned();
    }
    let report = view.report.as_ref();
    let detail = report.and_then(|report| report.detail.clone());
    detail.unwrap_or_default()
}

fn tasks(status: &Status, theme: Theme) -> String {
    let counts: Vec<String> = TASK_STATES
        .iter()
        .map(|state| (status.count(*state), state.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if counts.is_empty() {
        return "no tasks\n".to_owned();
    }
    let mut text = format!("tasks: {}\n", counts.join(", "));
    let table = task::table(status.open_tasks(), &status.tasks);
    if !table.is_empty() {
        text += &table.render(theme);
    }
    text
}

fn waiting(status: &Status) -> String {
    let lines: Vec<String> = status.requests.iter().map(requests::in_short).collect();
    format!("waiting for an answer:\n{}\n", lines.join("\n"))
}

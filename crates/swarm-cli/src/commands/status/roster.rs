//! The members in a status.

use std::collections::HashMap;

use swarm_panes::backend_kind;
use swarm_protocol::{Member, MemberState, Task, TaskStatus, UnixMs};
use swarm_store::MemberView;
use swarm_ui::Theme;
use swarm_ui::print::{Cell, Table, counted, short_count};

use super::gather::Status;
use crate::commands::members::{age, frozen as frozen_words, is_over, server_of, since};
use crate::commands::team::member_state;

/// Formats the members as a table; with `brief` only those with work.
pub(super) fn text(status: &Status, now: UnixMs, theme: Theme, brief: bool) -> String {
    let mut table = heading(!status.elsewhere.is_empty());
    let in_progress = in_progress(&status.tasks.tasks);
    for view in status
        .members
        .iter()
        .filter(|view| !brief || !is_quiet(view))
    {
        table.row(row(status, view, &in_progress, now));
    }
    if table.is_empty() {
        return String::new();
    }
    table.render(theme)
}

/// Formats idle members in one line.
pub(super) fn quiet(status: &Status) -> String {
    let quiet = status.members.iter().filter(|view| is_quiet(view));
    let names: Vec<&str> = quiet.map(|view| view.member.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    let count = counted(names.len() as u64, "member");
    format!("{count} idle: {}\n", names.join(", "))
}

/// Returns whether a member is idle without notes.
fn is_quiet(view: &MemberView) -> bool {
    matches!(
        view.state,
        MemberState::Idle | MemberState::Stopped | MemberState::Foreign
    ) && view.unread == Some(0)
        && !view.frozen
}

/// Column headings. A narrow terminal omits the least important columns; the pane has the machine of a
/// member elsewhere.
fn heading(is_elsewhere: bool) -> Table {
    let spare = if is_elsewhere {
        [9, 5, 6, 4, 8]
    } else {
        [9, 8, 5, 6, 4]
    };
    Table::new([
        "MEMBER", "STATE", "FOR", "UNREAD", "COST", "TOKENS", "CONTEXT", "DOING", "PANE", "MODEL",
    ])
    .right([2, 3, 4, 5, 6])
    .spare(spare)
}

fn row(
    status: &Status,
    view: &MemberView,
    in_progress: &InProgress<'_>,
    now: UnixMs,
) -> [Cell; 10] {
    let since = since(view).map_or_else(String::new, |since| age(now, since));
    let unread = match view.unread {
        Some(0) => Cell::new("0").dim(),
        Some(count) => Cell::new(count.to_string()),
        None => Cell::new("?").bad(),
    };
    let sum = status.spending.of_member(&view.member.name);
    let cost = if sum.requests == 0 {
        String::new()
    } else {
        sum.to_string()
    };
    [
        Cell::name(&view.member.name, view.member.known_color()),
        member_state(view, status.state),
        Cell::new(since),
        unread,
        Cell::new(cost),
        Cell::new(short_count(sum.usage.total())),
        context(view),
        Cell::new(doing(status, view, in_progress)),
        Cell::new(pane(status, &view.member)),
        Cell::new(view.member.model.as_deref().unwrap_or_default()),
    ]
}

/// Formats the share of the context window that the conversation uses.
fn context(view: &MemberView) -> Cell {
    let used = view.report.as_ref().and_then(|report| report.context);
    let Some(used) = used.filter(|_| !is_over(view.state)) else {
        return Cell::new("");
    };
    Cell::new(format!("{}%", used.percent()))
}

/// Formats the pane with its machine, if it is another one.
fn pane(status: &Status, member: &Member) -> String {
    let Some(elsewhere) = status.elsewhere.get(&member.name) else {
        return pane_here(status, member);
    };
    let there = match member.tmux_pane_id.as_str() {
        text if text.starts_with('%') => text.to_owned(),
        _ => pane_here(status, member),
    };
    format!("{there} on {elsewhere}").trim_start().to_owned()
}

/// Formats the tmux pane, with the server if there are several. Of other backends only the name is
/// shown, because their ids have no meaning for people.
fn pane_here(status: &Status, member: &Member) -> String {
    match member.tmux_pane_id.as_str() {
        text if text.starts_with('%') => match server_of(member, &status.members) {
            Some(server) => format!("{text} on {server}"),
            None => text.to_owned(),
        },
        _ => {
            let kind = member.backend_type.as_ref().and_then(backend_kind);
            // Other programs write a backend for the lead.
            let kind = kind.filter(|_| !member.tmux_pane_id.is_none() && !member.name.is_lead());
            kind.map_or_else(String::new, |kind| kind.backend().name().to_owned())
        }
    }
}

type InProgress<'a> = HashMap<&'a str, Vec<&'a Task>>;

fn in_progress(tasks: &[Task]) -> InProgress<'_> {
    let mut in_progress = InProgress::new();
    for task in tasks {
        if let (TaskStatus::InProgress, Some(owner)) = (task.status, &task.owner) {
            in_progress.entry(owner).or_default().push(task);
        }
    }
    in_progress
}

/// Returns what the program of a member that joined by itself says in the roster.
fn own_report(view: &MemberView) -> Option<&'static str> {
    if view.state != MemberState::Foreign || view.member.name.is_lead() {
        return None;
    }
    let is_active = view.member.is_active?;
    Some(if is_active { "working" } else { "idle" })
}

/// Formats a member's task and activity, or the reason why it is not working.
fn doing(status: &Status, view: &MemberView, in_progress: &InProgress<'_>) -> String {
    if let Some(host) = &view.parked_on {
        let name = &view.member.name;
        return format!("lost its lease; `swarm spawn {name}` on {host} continues it");
    }
    if is_over(view.state) {
        let reason = status.death(&view.member.name);
        return reason.unwrap_or_default().to_owned();
    }
    // Other programs may write the full agent id.
    let id = view.member.id_in(&status.config.name).to_string();
    let owners = [view.member.name.as_str(), &id].into_iter();
    let mine = owners.filter_map(|owner| in_progress.get(owner)).flatten();
    let mine = mine.map(|task| {
        let words = task.active_form.as_deref().unwrap_or(&task.subject);
        format!("#{} {words}", task.id)
    });
    let report = view.report.as_ref();
    let detail = report.and_then(|report| report.detail.clone());
    let pauses = view.pause.is_some() && view.state != MemberState::Paused;
    let pauses = pauses.then(|| "pauses when its turn ends".to_owned());
    let frozen = view.process.as_ref().filter(|_| view.frozen);
    let frozen = frozen.map(|life| frozen_words(life.pid));
    let first = frozen.into_iter().chain(pauses);
    let commands = report.map_or(&[][..], |report| &report.commands);
    let commands =
        (!commands.is_empty()).then(|| format!("in the background: {}", commands.join(", ")));
    let fallback = report.and_then(|report| report.fallback.as_ref());
    let fallback = fallback.map(|model| format!("{model} answers (fallback)"));
    let parts = first
        .chain(own_report(view).map(str::to_owned))
        .chain(mine)
        .chain(detail)
        .chain(fallback)
        .chain(commands);
    let parts: Vec<String> = parts.collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_shows_the_machine_of_a_member_elsewhere() {
        let shown = |is_elsewhere| {
            let mut table = heading(is_elsewhere);
            table.row(
                [
                    "team-lead",
                    "working",
                    "12m 30s",
                    "0",
                    "$0.12",
                    "12.3k",
                    "12%",
                    "#1 write the parser for dates and times",
                    "headless on box",
                    "claude-opus",
                ]
                .map(Cell::new),
            );
            table.render(Theme {
                width: Some(80),
                ..Theme::PLAIN
            })
        };
        insta::assert_snapshot!(shown(true), @"
        MEMBER     STATE        FOR  UNREAD   COST  DOING                PANE
        team-lead  working  12m 30s       0  $0.12  #1 write the parse…  headless on box
        ");
        insta::assert_snapshot!(shown(false), @"
        MEMBER     STATE        FOR  UNREAD   COST  TOKENS  CONTEXT  DOING
        team-lead  working  12m 30s       0  $0.12   12.3k      12%  #1 write the parse…
        ");
    }
}

//! The members of a status: who is at what, since when.

use swarm_protocol::{MemberState, PaneId, TaskStatus, UnixMs};
use swarm_store::MemberView;
use swarm_ui::Theme;
use swarm_ui::print::{Cell, Table, counted, short_count};

use super::gather::Status;
use crate::commands::members::{age, is_over, since, state_cell};

/// The members in a table; with `brief` only those who have something to do.
pub(super) fn text(status: &Status, now: UnixMs, theme: Theme, brief: bool) -> String {
    let mut table = heading();
    for view in status
        .members
        .iter()
        .filter(|view| !brief || !is_quiet(view))
    {
        table.row(row(status, view, now));
    }
    if table.is_empty() {
        return String::new();
    }
    table.render(theme)
}

/// The others in one line.
pub(super) fn quiet(status: &Status) -> String {
    let quiet = status.members.iter().filter(|view| is_quiet(view));
    let names: Vec<&str> = quiet.map(|view| view.member.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    let count = counted(names.len() as u64, "member");
    format!("{count} with nothing to do: {}\n", names.join(", "))
}

/// Whether a member has nothing to do and nothing to say.
fn is_quiet(view: &MemberView) -> bool {
    matches!(
        view.state,
        MemberState::Idle | MemberState::Stopped | MemberState::Foreign
    ) && view.unread == Some(0)
}

/// The headings. In a small terminal what says least about the work is left out.
fn heading() -> Table {
    Table::new([
        "MEMBER", "STATE", "FOR", "UNREAD", "TOKENS", "DOING", "PANE", "MODEL",
    ])
    .right(2)
    .right(3)
    .right(4)
    .spare([7, 6, 4])
}

fn row(status: &Status, view: &MemberView, now: UnixMs) -> [Cell; 8] {
    let since = since(view).map_or_else(String::new, |since| age(now, since));
    let unread = match view.unread {
        Some(0) => Cell::new("0").dim(),
        Some(count) => Cell::new(count.to_string()),
        None => Cell::new("?").bad(),
    };
    let tokens = status.usage_of(&view.member.name).total();
    [
        Cell::name(&view.member.name, view.member.known_color()),
        state_cell(view),
        Cell::new(since),
        unread,
        Cell::new(short_count(tokens)),
        Cell::new(doing(status, view)),
        Cell::new(pane(&view.member.tmux_pane_id)),
        Cell::new(view.member.model.as_deref().unwrap_or_default()),
    ]
}

/// The pane's number in tmux; the ids of members without a terminal say nothing to people.
fn pane(id: &PaneId) -> &str {
    match id.as_str() {
        text if text.starts_with('%') => text,
        text if text.starts_with("headless") => "headless",
        _ => "",
    }
}

/// Its task and what it is at, or why it is at nothing.
fn doing(status: &Status, view: &MemberView) -> String {
    if is_over(view.state) {
        let reason = status.death(&view.member.name);
        return reason.unwrap_or_default().to_owned();
    }
    let id = view.member.id_in(&status.config.name);
    let mine = status.tasks.tasks.iter();
    let mine = mine.filter(|task| task.status == TaskStatus::InProgress && task.is_owned_by(&id));
    let mine = mine.map(|task| {
        let words = task.active_form.as_deref().unwrap_or(&task.subject);
        format!("#{} {words}", task.id)
    });
    let report = view.report.as_ref();
    let detail = report.and_then(|report| report.detail.clone());
    let pauses = view.pause.is_some() && view.state != MemberState::Paused;
    let pauses = pauses.then(|| "pauses when its turn ends".to_owned());
    let parts: Vec<String> = pauses.into_iter().chain(mine).chain(detail).collect();
    parts.join("; ")
}

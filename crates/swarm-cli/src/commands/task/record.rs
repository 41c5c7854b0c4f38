//! Text and JSON forms of tasks, and warnings about members that were not notified of changes.

use serde_json::{Value, json};
use swarm_protocol::{Task, TaskId, TaskState, task_numbers};
use swarm_store::{BlockOn as _, TaskList, Team};
use swarm_ui::print::{Cell, Table};

use crate::app::App;
use crate::failure::Result;

/// Returns a task's stored record with its state.
pub(in crate::commands) fn record(task: &Task, list: &TaskList) -> Result<Value> {
    let mut record = serde_json::to_value(task)?;
    record["state"] = json!(list.state(task));
    Ok(record)
}

/// Returns the open blockers of a task, such as `#1, #3`.
pub(super) fn open_blockers(task: &Task, list: &TaskList) -> String {
    task_numbers(task.blocked_by.iter().filter(|id| !list.is_settled(**id)))
}

pub(in crate::commands) fn table<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    list: &TaskList,
) -> Table {
    let tasks: Vec<&Task> = tasks.into_iter().collect();
    let has_checks = tasks.iter().any(|task| !task.checks().is_empty());
    let checks = has_checks.then_some("CHECKS");
    let headings = ["TASK", "STATE", "OWNER", "WAITS FOR"];
    let mut table = Table::new(headings.into_iter().chain(checks).chain(["SUBJECT"]));
    for task in tasks {
        let checks = has_checks.then(|| checks_cell(task));
        table.row(row(task, list, checks));
    }
    table
}

/// Returns a row with another column before the subject.
fn row(task: &Task, list: &TaskList, more: Option<Cell>) -> impl Iterator<Item = Cell> {
    let own = [
        Cell::new(format!("#{}", task.id)),
        state_cell(list.state(task)),
        Cell::new(task.owner.as_deref().unwrap_or_default()),
        Cell::new(open_blockers(task, list)),
    ];
    own.into_iter()
        .chain(more)
        .chain([Cell::new(&task.subject)])
}

/// Formats how many checks of a task have passed.
fn checks_cell(task: &Task) -> Cell {
    let checks = task.checks();
    if checks.is_empty() {
        return Cell::new("");
    }
    let passed = checks.iter().filter(|check| check.has_passed()).count();
    let cell = Cell::new(format!("{passed} of {} passed", checks.len()));
    if checks
        .iter()
        .any(|check| check.last.is_some() && !check.has_passed())
    {
        return cell.bad();
    }
    cell
}

/// Formats tasks as a table, with the tasks that each one blocks.
pub(super) fn full_table<'a>(tasks: impl IntoIterator<Item = &'a Task>, list: &TaskList) -> Table {
    let mut table =
        Table::new(["TASK", "STATE", "OWNER", "WAITS FOR", "BLOCKS", "SUBJECT"]).spare([4]);
    for task in tasks {
        let open = |id: &&TaskId| {
            list.get(**id)
                .is_some_and(|other| list.state(other) == TaskState::Blocked)
        };
        let blocks = if list.is_settled(task.id) {
            String::new()
        } else {
            task_numbers(task.blocks.iter().filter(open))
        };
        table.row(row(task, list, Some(Cell::new(blocks))));
    }
    table
}

fn state_cell(state: TaskState) -> Cell {
    let cell = Cell::new(state.name());
    match state {
        TaskState::Completed => cell.dim(),
        TaskState::InProgress => cell.good(),
        TaskState::Failed => cell.bad(),
        TaskState::Pending | TaskState::Blocked => cell,
    }
}

/// Returns a sentence for each member.
pub(in crate::commands) fn undelivered(team: &dyn Team) -> Vec<String> {
    let found = team.undelivered().block_on();
    // Others are those of changes that another process is making.
    let tried = found.iter().filter(|one| one.was_tried);
    tried.map(ToString::to_string).collect()
}

/// Prints a warning for each member after a change.
pub(in crate::commands) fn warn_undelivered(app: &App, team: &dyn Team) {
    for line in undelivered(team) {
        app.out.warn(&format!("the change is done, but {line}"));
    }
}

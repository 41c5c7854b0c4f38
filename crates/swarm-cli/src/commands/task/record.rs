//! Text and JSON forms of tasks.

use serde_json::{Value, json};
use swarm_protocol::{Task, TaskId, TaskState};
use swarm_store::TaskList;
use swarm_ui::print::{Cell, Table};

use crate::failure::Failure;
use crate::output::with_commas;

/// Returns a task's stored record with its state.
pub(in crate::commands) fn record(task: &Task, list: &TaskList) -> Result<Value, Failure> {
    let mut record = serde_json::to_value(task)?;
    record["state"] = json!(list.state(task));
    Ok(record)
}

/// Returns the open blockers of a task, such as `#1, #3`.
pub(super) fn open_blockers(task: &Task, list: &TaskList) -> String {
    numbers(task.blocked_by.iter().filter(|id| !list.is_settled(**id)))
}

pub(in crate::commands) fn table<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    list: &TaskList,
) -> Table {
    let tasks: Vec<&Task> = tasks.into_iter().collect();
    let has_checks = tasks.iter().any(|task| !task.swarm().checks.is_empty());
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
    let checks = task.swarm().checks;
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
            numbers(task.blocks.iter().filter(open))
        };
        table.row(row(task, list, Some(Cell::new(blocks))));
    }
    table
}

/// Formats numbers as `#1, #3`.
fn numbers<'a>(ids: impl Iterator<Item = &'a TaskId>) -> String {
    with_commas(ids.map(|id| format!("#{id}")))
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

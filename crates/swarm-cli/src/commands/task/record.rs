//! Text and JSON forms of tasks.

use serde_json::{Value, json};
use swarm_protocol::{Task, TaskId, TaskState};
use swarm_store::TaskList;
use swarm_ui::print::{Cell, Table};

use crate::failure::Failure;

/// Returns a task's stored record with its state.
pub(in crate::commands) fn record(task: &Task, list: &TaskList) -> Result<Value, Failure> {
    let mut record = serde_json::to_value(task).map_err(anyhow::Error::from)?;
    record["state"] = json!(list.state(task));
    Ok(record)
}

/// Returns the open blockers of a task, such as `#1, #3`.
pub(super) fn open_blockers(task: &Task, list: &TaskList) -> String {
    numbers(task.blocked_by.iter().filter(|id| !list.is_settled(**id)))
}

/// Formats tasks as a table.
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
        let own = [
            Cell::new(format!("#{}", task.id)),
            state_cell(list.state(task)),
            Cell::new(task.owner.as_deref().unwrap_or_default()),
            Cell::new(open_blockers(task, list)),
        ];
        let checks = has_checks.then(|| checks_cell(task));
        let subject = Cell::new(&task.subject);
        table.row(own.into_iter().chain(checks).chain([subject]));
    }
    table
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
        table.row([
            Cell::new(format!("#{}", task.id)),
            state_cell(list.state(task)),
            Cell::new(task.owner.as_deref().unwrap_or_default()),
            Cell::new(open_blockers(task, list)),
            Cell::new(blocks),
            Cell::new(&task.subject),
        ]);
    }
    table
}

/// Formats numbers as `#1, #3`.
fn numbers<'a>(ids: impl Iterator<Item = &'a TaskId>) -> String {
    let words: Vec<String> = ids.map(|id| format!("#{id}")).collect();
    words.join(", ")
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

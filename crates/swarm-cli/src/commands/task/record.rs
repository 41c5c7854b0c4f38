//! Tasks as commands print them.

use serde_json::{Value, json};
use swarm_protocol::{Task, TaskState};
use swarm_store::TaskList;
use swarm_ui::print::{Cell, Table};

use crate::failure::Failure;

/// A task's record on disk with its state.
pub(in crate::commands) fn record(task: &Task, list: &TaskList) -> Result<Value, Failure> {
    let mut record = serde_json::to_value(task).map_err(anyhow::Error::from)?;
    record["state"] = json!(list.state(task));
    Ok(record)
}

/// The open blockers of a task, such as `#1, #3`.
pub(super) fn open_blockers(task: &Task, list: &TaskList) -> String {
    let open = task.blocked_by.iter().filter(|id| !list.is_settled(**id));
    let words: Vec<String> = open.map(|id| format!("#{id}")).collect();
    words.join(", ")
}

/// Tasks as a table.
pub(in crate::commands) fn table<'a>(
    tasks: impl IntoIterator<Item = &'a Task>,
    list: &TaskList,
) -> Table {
    let mut table = Table::new(["TASK", "STATE", "OWNER", "WAITS FOR", "SUBJECT"]);
    for task in tasks {
        table.row([
            Cell::new(format!("#{}", task.id)),
            state_cell(list.state(task)),
            Cell::new(task.owner.as_deref().unwrap_or_default()),
            Cell::new(open_blockers(task, list)),
            Cell::new(&task.subject),
        ]);
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

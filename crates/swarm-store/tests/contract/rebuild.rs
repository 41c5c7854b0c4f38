//! Rebuilding the task list from the journal, which has all its data.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use swarm_protocol::{Event, JournalEntry, Task, TaskId};

/// Returns the tasks in a journal by number, as last written by swarm. Changes by other programs
/// are missing, and so are tasks whose events were written by a version that did not record the
/// fields.
pub(crate) fn tasks_in_journal<'e>(
    entries: impl IntoIterator<Item = &'e JournalEntry>,
) -> Vec<Task> {
    let mut records: BTreeMap<TaskId, Map<String, Value>> = BTreeMap::new();
    for entry in entries {
        match &entry.event {
            Event::TaskCreated {
                task,
                record: Some(record),
                ..
            } => {
                if let Ok(Value::Object(fields)) = serde_json::to_value(record) {
                    records.insert(*task, fields);
                }
            }
            Event::TaskChanged { task, set, .. } => {
                if let Some(record) = records.get_mut(task) {
                    apply(record, set);
                }
            }
            Event::TaskDeleted { task, .. } => {
                records.remove(task);
            }
            _ => {}
        }
    }
    let tasks = records.into_values();
    tasks
        .filter_map(|record| serde_json::from_value(Value::Object(record)).ok())
        .collect()
}

fn apply(record: &mut Map<String, Value>, set: &Map<String, Value>) {
    for (key, value) in set {
        if value.is_null() {
            record.shift_remove(key);
        } else {
            record.insert(key.clone(), value.clone());
        }
    }
}

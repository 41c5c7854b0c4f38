//! Journal events of tasks. Together they hold every field, so that the list can be rebuilt from
//! them.

use serde_json::{Map, Value};
use swarm_protocol::{Event, Task, TaskStatus};

use super::{TaskList, Writes};

/// Returns the events of written changes. `before` is the list before the change.
pub(super) fn changes(before: &TaskList, writes: &Writes, by: &str) -> Vec<Event> {
    let written = writes.iter().filter_map(|(id, task)| {
        let (old, new) = (before.get(*id)?, task.as_ref()?);
        (old != new).then_some((old, new))
    });
    let events = written.map(|(old, new)| Event::TaskChanged {
        task: new.id,
        from: before.state(old),
        to: before.state(new),
        owner: new.owner.clone(),
        by: by.to_owned(),
        set: difference(old, new),
    });
    events.collect()
}

/// Returns the new values of the changed fields; `null` for a removed field.
fn difference(old: &Task, new: &Task) -> Map<String, Value> {
    let (old, new) = (fields(old), fields(new));
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let set = new
        .iter()
        .filter(|(key, value)| old.get(*key) != Some(value));
    let set = set.map(|(key, value)| (key.clone(), value.clone()));
    set.chain(gone).collect()
}

/// A task's record as an object.
fn fields(task: &Task) -> Map<String, Value> {
    // Numbers, strings and JSON values always serialize, and a task is an object.
    match serde_json::to_value(task) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Returns the tasks that are blocked in `before` but not in `after`.
pub(super) fn unblocked(before: &TaskList, after: &TaskList) -> Vec<Task> {
    use swarm_protocol::TaskState::{Blocked, Pending};
    let waiting = after.tasks.iter().filter(|task| {
        task.status == TaskStatus::Pending
            && after.state(task) == Pending
            && before
                .get(task.id)
                .is_some_and(|old| before.state(old) == Blocked)
    });
    waiting.cloned().collect()
}

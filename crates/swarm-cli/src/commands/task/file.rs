//! A file with tasks that may depend on each other before they have numbers.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use swarm_protocol::{MemberName, NewTask, TaskId};

use crate::commands::input_text;
use crate::failure::{Failure, Result};

/// Format of the file, for errors.
const FORM: &str = "write it as [{\"ref\": \"dig\", \"subject\": …}, {\"subject\": …, \"owner\": …, \"blockedBy\": [\"dig\", \"7\"]}]";

/// Tasks of a file.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) tasks: Vec<NewTask>,
    /// The `ref` of each task, if any.
    pub(super) refs: Vec<Option<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    /// Name by which other tasks in the file refer to this one.
    #[serde(default, rename = "ref")]
    name: Option<String>,
    subject: String,
    #[serde(default)]
    description: String,
    active_form: Option<String>,
    owner: Option<MemberName>,
    /// `ref`s of this file, or numbers of existing tasks.
    #[serde(default)]
    blocked_by: Vec<Blocker>,
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    checks: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Blocker {
    Number(u64),
    Text(String),
}

pub(super) fn read(path: &Path, base: &Path) -> Result<Listed> {
    let text = input_text::file(path, base)?;
    parse(&text, &input_text::name(path))
}

fn parse(text: &str, origin: &str) -> Result<Listed> {
    let entries: Vec<Entry> = serde_json::from_str(text).map_err(|error| {
        Failure::usage(format!("{origin} is not a list of tasks: {error}")).with_hint(FORM)
    })?;
    if entries.is_empty() {
        return Err(Failure::usage(format!("{origin} contains no tasks")));
    }
    let places = places(&entries, origin)?;
    let mut listed = Listed {
        tasks: Vec::with_capacity(entries.len()),
        refs: Vec::with_capacity(entries.len()),
    };
    for entry in entries {
        let mut task = NewTask {
            subject: entry.subject,
            description: entry.description,
            active_form: entry.active_form,
            owner: entry.owner,
            metadata: entry.metadata,
            checks: entry.checks,
            ..NewTask::default()
        };
        for blocker in entry.blocked_by {
            match blocker {
                Blocker::Number(number) => task.blocked_by.push(TaskId::new(number)),
                Blocker::Text(text) => match places.get(&text) {
                    Some(place) => task.after.push(*place),
                    None => task.blocked_by.push(number(&text, &task.subject, origin)?),
                },
            }
        }
        listed.tasks.push(task);
        listed.refs.push(entry.name);
    }
    Ok(listed)
}

/// Returns the index of each `ref`. A numeric `ref` could be confused with an existing task.
fn places(entries: &[Entry], origin: &str) -> Result<HashMap<String, usize>> {
    let mut places = HashMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let Some(name) = &entry.name else { continue };
        let shown = name.escape_debug();
        if name.trim().is_empty() || name.parse::<TaskId>().is_ok() {
            let message =
                format!("{origin}: `{shown}` is not a valid `ref`: use a word, not a number");
            return Err(Failure::usage(message).with_hint(FORM));
        }
        if places.insert(name.clone(), place).is_some() {
            return Err(Failure::usage(format!(
                "{origin}: two tasks have the `ref` `{shown}`"
            )));
        }
    }
    Ok(places)
}

fn number(text: &str, subject: &str, origin: &str) -> Result<TaskId> {
    text.parse().map_err(|_| {
        let message = format!(
            "{origin}: `{}` waits for `{}`, which is neither a `ref` of the file nor a task number",
            subject.escape_debug(),
            text.escape_debug()
        );
        Failure::usage(message).with_hint(FORM)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_a_file_depend_on_refs_and_numbers() {
        let text = r#"[{"subject": "fill", "blockedBy": ["dig", "7", 8]}, {"ref": "dig", "subject": "dig"}]"#;
        let listed = parse(text, "f").unwrap();
        assert_eq!(listed.tasks[0].after, [1]);
        assert_eq!(listed.tasks[0].blocked_by, [TaskId::new(7), TaskId::new(8)]);
        assert_eq!(listed.refs, [None, Some("dig".to_owned())]);
    }

    #[test]
    fn misleading_refs_are_rejected_with_a_reason() {
        for (text, word) in [
            (r#"[{"ref": "1", "subject": "a"}]"#, "number"),
            (r#"[{"ref": " ", "subject": "a"}]"#, "word"),
            (
                r#"[{"ref": "a", "subject": "a"}, {"ref": "a", "subject": "b"}]"#,
                "two tasks",
            ),
            (r#"[{"subject": "a", "blockedBy": ["dug"]}]"#, "`dug`"),
            (r#"[{"subject": "a", "blockdBy": []}]"#, "blockdBy"),
            ("[]", "no tasks"),
            ("{}", "not a list"),
        ] {
            let message = parse(text, "f").unwrap_err().message;
            assert!(message.contains(word), "{message}");
        }
    }
}

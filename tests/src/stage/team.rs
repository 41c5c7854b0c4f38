//! The files of a team, read as by another program.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Files of one team. Missing files count as empty, so that a test can wait for them.
#[derive(Debug, Clone)]
pub struct Team {
    root: PathBuf,
    name: String,
}

impl Team {
    /// Returns the files of a team below a config directory.
    pub fn new(root: &Path, name: &str) -> Self {
        Self {
            root: root.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Returns its directory below `teams/`.
    pub fn directory(&self) -> PathBuf {
        self.root.join("teams").join(&self.name)
    }

    /// Returns its directory below `tasks/`.
    pub fn tasks_directory(&self) -> PathBuf {
        self.root.join("tasks").join(&self.name)
    }

    /// Returns a member's directory.
    pub fn member_directory(&self, member: &str) -> PathBuf {
        self.directory().join("swarm/members").join(member)
    }

    /// Returns the record of the holder of a member's life lock.
    pub fn life(&self, member: &str) -> Value {
        read_json(&self.member_directory(member).join("life"))
    }

    /// Returns the path of a member's inbox.
    pub fn inbox_path(&self, member: &str) -> PathBuf {
        self.directory()
            .join("inboxes")
            .join(format!("{member}.json"))
    }

    /// Returns `config.json`.
    pub fn config(&self) -> Value {
        read_json(&self.directory().join("config.json"))
    }

    /// Returns a member's roster entry.
    pub fn member(&self, name: &str) -> Option<Value> {
        let config = self.config();
        let members = config["members"].as_array()?;
        members
            .iter()
            .find(|member| member["name"] == name)
            .cloned()
    }

    /// Returns the names in the roster, in order.
    pub fn names(&self) -> Vec<String> {
        let config = self.config();
        let members = config["members"].as_array().into_iter().flatten();
        members
            .filter_map(|member| member["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// Returns the entries of an inbox.
    pub fn inbox(&self, member: &str) -> Vec<Value> {
        match read_json(&self.inbox_path(member)) {
            Value::Array(entries) => entries,
            _ => Vec::new(),
        }
    }

    /// Returns whether a member has unread messages. Read before its state, this shows whether it
    /// is idle.
    pub fn has_unread(&self, member: &str) -> bool {
        self.inbox(member).iter().any(|entry| entry["read"] != true)
    }

    /// Returns the control frames of a type in an inbox.
    pub fn frames(&self, member: &str, kind: &str) -> Vec<Value> {
        self.inbox(member)
            .iter()
            .filter_map(|entry| serde_json::from_str::<Value>(entry["text"].as_str()?).ok())
            .filter(|frame| frame["type"] == kind)
            .collect()
    }

    /// Returns the tasks, by number.
    pub fn tasks(&self) -> Vec<Value> {
        let Ok(entries) = std::fs::read_dir(self.tasks_directory()) else {
            return Vec::new();
        };
        let mut numbers: Vec<u64> = entries
            .filter_map(|entry| {
                entry
                    .ok()?
                    .file_name()
                    .to_str()?
                    .strip_suffix(".json")?
                    .parse()
                    .ok()
            })
            .collect();
        numbers.sort_unstable();
        numbers
            .into_iter()
            .map(|number| self.task(number))
            .collect()
    }

    /// Returns one task.
    pub fn task(&self, number: u64) -> Value {
        read_json(&self.tasks_directory().join(format!("{number}.json")))
    }

    /// Returns the lines of the journal.
    pub fn journal(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.directory().join("swarm/journal.jsonl"))
            .unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Returns the journal events of a type.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let mut events = self.journal();
        events.retain(|event| event["type"] == kind);
        events
    }

    /// What a member reports to be doing.
    pub fn state(&self, member: &str) -> Value {
        read_json(&self.member_directory(member).join("state.json"))
    }

    /// What a member said of itself at its start.
    pub fn hello(&self, member: &str) -> Value {
        read_json(&self.member_directory(member).join("hello.json"))
    }

    /// The requests on file.
    pub fn requests(&self) -> Vec<Value> {
        let Ok(entries) = std::fs::read_dir(self.directory().join("swarm/requests")) else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| Some(read_json(&entry.ok()?.path())))
            .filter(|request| !request.is_null())
            .collect()
    }
}

/// The document in a file; null when there is none. A file that is being replaced is whole at every moment.
fn read_json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

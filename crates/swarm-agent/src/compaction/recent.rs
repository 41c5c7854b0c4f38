//! The agent's current work, derived from its tool calls.

use serde_json::Value;
use swarm_model::ContentBlock;

/// Most files to remember.
const FILES: usize = 10;

/// The to-do list, the plan, and the files read or changed last.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    todos: Vec<Value>,
    plan: Option<String>,
    /// Paths as the model wrote them, latest last.
    files: Vec<String>,
}

impl Recent {
    /// Records a block of the agent, if it is a call.
    pub(crate) fn record(&mut self, block: &ContentBlock) {
        let ContentBlock::ToolUse { name, input, .. } = block else {
            return;
        };
        match name.as_str() {
            "TodoWrite" => {
                if let Some(todos) = input["todos"].as_array() {
                    self.todos.clone_from(todos);
                }
            }
            "ExitPlanMode" => self.plan = input["plan"].as_str().map(str::to_owned),
            "Read" | "Edit" | "Write" => {
                if let Some(path) = input["file_path"].as_str() {
                    self.record_file(path);
                }
            }
            _ => {}
        }
    }

    fn record_file(&mut self, path: &str) {
        self.files.retain(|known| known != path);
        if self.files.len() >= FILES {
            self.files.remove(0);
        }
        self.files.push(path.to_owned());
    }

    /// Returns the files, latest first.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().rev().map(String::as_str)
    }

    pub(super) fn plan(&self) -> Option<&str> {
        self.plan.as_deref()
    }

    /// Returns the to-do list as text; `None` if nothing on it is open.
    pub(super) fn todos(&self) -> Option<String> {
        let is_done = |item: &Value| item["status"] == "completed";
        if self.todos.iter().all(is_done) {
            return None;
        }
        let lines = self.todos.iter().map(|item| {
            let sign = match item["status"].as_str() {
                Some("completed") => "[x]",
                Some("in_progress") => "[>]",
                _ => "[ ]",
            };
            format!("{sign} {}", item["content"].as_str().unwrap_or_default())
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, input: Value) -> ContentBlock {
        ContentBlock::ToolUse {
            id: "toolu_1".into(),
            name: name.into(),
            input,
        }
    }

    #[test]
    fn recent_files_are_listed_once_latest_first() {
        let mut recent = Recent::default();
        for number in 0..FILES + 2 {
            recent.record(&call("Read", json!({"file_path": format!("/{number}")})));
        }
        recent.record(&call("Edit", json!({"file_path": "/5"})));
        let files: Vec<&str> = recent.files().collect();
        assert_eq!(files.len(), FILES);
        assert_eq!(files[..3], ["/5", "/11", "/10"]);
    }

    #[test]
    fn a_completed_to_do_list_is_not_attached() {
        let mut recent = Recent::default();
        let item = |status| json!({"content": "a", "status": status, "activeForm": "a"});
        recent.record(&call("TodoWrite", json!({"todos": [item("completed")]})));
        assert_eq!(recent.todos(), None);
        let todos = json!([item("completed"), item("in_progress"), item("pending")]);
        recent.record(&call("TodoWrite", json!({"todos": todos})));
        assert_eq!(recent.todos().unwrap(), "[x] a\n[>] a\n[ ] a");
    }
}

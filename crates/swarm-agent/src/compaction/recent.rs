//! The agent's current work, derived from its tool calls.

use std::collections::HashMap;

use serde_json::Value;
use swarm_model::ContentBlock;
use swarm_protocol::PLAN_TOOL;
use swarm_tools::changed_plan;

/// Most files to remember.
const FILES: usize = 10;

/// The to-do list, the approved plan, and the files read or changed last.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    todos: Vec<Value>,
    /// The plan that was approved last, as it was approved.
    plan: Option<String>,
    /// The submitted plans without a result, by the ids of their calls.
    submitted: HashMap<String, String>,
    /// Paths as the model wrote them, latest last.
    files: Vec<String>,
}

impl Recent {
    /// Records a block, if it is a call of the agent or the result of one.
    pub(crate) fn record(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::ToolUse { id, name, input } => self.record_call(id, name, input),
            ContentBlock::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => self.record_result(tool_use_id, content, *is_error),
            _ => {}
        }
    }

    /// Returns whether [`Self::record`] needs the result of a call.
    pub(crate) fn needs_result(&self, id: &str) -> bool {
        self.submitted.contains_key(id)
    }

    fn record_result(&mut self, id: &str, content: &str, is_error: bool) {
        if let Some(plan) = self.submitted.remove(id).filter(|_| !is_error) {
            self.plan = Some(changed_plan(content).map_or(plan, str::to_owned));
        }
    }

    fn record_call(&mut self, id: &str, name: &str, input: &Value) {
        match name {
            "TodoWrite" => {
                if let Some(todos) = input["todos"].as_array() {
                    self.todos.clone_from(todos);
                }
            }
            PLAN_TOOL => {
                if let Some(plan) = input["plan"].as_str() {
                    self.submitted.insert(id.to_owned(), plan.to_owned());
                }
            }
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
    fn the_plan_is_the_one_that_was_approved() {
        let mut recent = Recent::default();
        let mut submit = |plan: &str, result: &str, is_error: bool| {
            recent.record(&call(PLAN_TOOL, json!({ "plan": plan })));
            recent.record(&ContentBlock::ToolResult {
                tool_use_id: "toolu_1".into(),
                content: result.into(),
                is_error,
            });
            recent.plan().map(str::to_owned)
        };
        assert_eq!(submit("# Old", "The plan was not approved.", true), None);
        let plan = submit("# Small", "The plan is approved.", false);
        assert_eq!(plan.as_deref(), Some("# Small"));
        let changed = "The plan is approved.\nThe plan was changed with the approval. \
                       Carry out this version:\n<plan>\n# New\n</plan>";
        let plan = submit("# Old", changed, false);
        assert_eq!(plan.as_deref(), Some("# New"));
        let plan = submit("# Other", "The plan was not approved.", true);
        assert_eq!(
            plan.as_deref(),
            Some("# New"),
            "the approved plan is still valid"
        );
    }

    #[test]
    fn the_approved_plan_of_several_in_one_response_is_kept() {
        let mut recent = Recent::default();
        for (id, plan) in [("toolu_1", "# First"), ("toolu_2", "# Second")] {
            recent.record(&ContentBlock::ToolUse {
                id: id.into(),
                name: PLAN_TOOL.into(),
                input: json!({ "plan": plan }),
            });
        }
        for (id, is_error) in [("toolu_1", false), ("toolu_2", true)] {
            assert!(recent.needs_result(id));
            recent.record(&ContentBlock::ToolResult {
                tool_use_id: id.into(),
                content: "The plan is approved.".into(),
                is_error,
            });
        }
        assert_eq!(recent.plan(), Some("# First"));
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

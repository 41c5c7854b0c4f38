//! The `TodoWrite` tool.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;

use crate::one_line::{counted, one_line};
use crate::parameters::{parse, schema};
use crate::{Tool, ToolContext, ToolOutput, prompt};

/// Items that a pane shows of a list.
const SHOWN: usize = 8;

/// Keeps an agent's own to-do list, which is in its conversation for the model and in its pane for people. Other members
/// do not see it, unlike the team's tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct TodoWrite;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The whole list
    todos: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Item {
    /// What to do
    #[schemars(length(min = 1))]
    content: String,
    status: Status,
    /// The same in progress: `Running the tests`
    active_form: Option<String>,
    #[schemars(skip)]
    #[expect(dead_code, reason = "accepted, since models pass it")]
    id: Option<Value>,
    #[schemars(skip)]
    #[expect(dead_code, reason = "accepted, since models pass it")]
    priority: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Item {
    fn active_form(&self) -> &str {
        self.active_form.as_deref().unwrap_or(&self.content)
    }
}

#[async_trait]
impl Tool for TodoWrite {
    fn name(&self) -> &'static str {
        "TodoWrite"
    }

    fn description(&self) -> String {
        prompt!("tools/TodoWrite").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Parameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Own
    }

    fn one_line(&self, input: &Value) -> String {
        let Ok(items) = items(input) else {
            return "TodoWrite".into();
        };
        let now = items.iter().find(|item| item.status == Status::InProgress);
        let now = now.map_or(String::new(), |item| format!(": {}", item.active_form()));
        one_line(&format!("TodoWrite {}{now}", progress(&items)))
    }

    fn shown(&self, input: &Value) -> Vec<String> {
        let Ok(items) = items(input) else {
            return Vec::new();
        };
        let mut lines: Vec<String> = items.iter().take(SHOWN).map(line).collect();
        if items.len() > SHOWN {
            lines.push(format!("and {} more", items.len() - SHOWN));
        }
        lines
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        match items(&input) {
            Ok(_) => ToolOutput::ok(
                "The list is saved. Continue with the item in progress and keep the list up to date.",
                "noted",
            ),
            Err(why) => ToolOutput::error(why),
        }
    }
}

fn items(input: &Value) -> Result<Vec<Item>, String> {
    let Parameters { todos } = parse("TodoWrite", input.clone())?;
    if todos.iter().any(|item| item.content.trim().is_empty()) {
        return Err("TodoWrite: an item has no content.".into());
    }
    Ok(todos)
}

fn progress(items: &[Item]) -> String {
    let done = items
        .iter()
        .filter(|item| item.status == Status::Completed)
        .count();
    format!("{done} of {} done", counted(items.len(), "item"))
}

fn line(item: &Item) -> String {
    let (sign, text) = match item.status {
        Status::Completed => ("[x]", item.content.as_str()),
        Status::InProgress => ("[>]", item.active_form()),
        Status::Pending => ("[ ]", item.content.as_str()),
    };
    one_line(&format!("{sign} {text}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(count: usize) -> Value {
        let todos: Vec<Value> = (0..count)
            .map(|n| {
                let status = match n {
                    0 => "completed",
                    1 => "in_progress",
                    _ => "pending",
                };
                json!({"content": format!("step {n}"), "status": status, "activeForm": format!("doing {n}")})
            })
            .collect();
        json!({ "todos": todos })
    }

    #[test]
    fn a_list_is_short_lines_in_a_pane() {
        assert_eq!(
            TodoWrite.one_line(&list(3)),
            "TodoWrite 1 of 3 items done: doing 1"
        );
        assert_eq!(
            TodoWrite.shown(&list(3)),
            ["[x] step 0", "[>] doing 1", "[ ] step 2"]
        );
        let long = TodoWrite.shown(&list(20));
        assert_eq!(long.len(), SHOWN + 1);
        assert_eq!(long[SHOWN], "and 12 more");
    }

    #[test]
    fn what_is_no_list_of_steps_is_refused_by_name() {
        for (input, part) in [
            (json!({}), "`todos`"),
            (json!({"todos": "x"}), "`todos`"),
            (
                json!({"todos": [{"content": "a", "status": "done", "activeForm": "a"}]}),
                "`done`",
            ),
            (json!({"todos": [{"status": "pending"}]}), "`content`"),
            (
                json!({"todos": [{"content": " ", "status": "pending"}]}),
                "no content",
            ),
        ] {
            let Err(why) = items(&input) else {
                panic!("{input}")
            };
            assert!(why.contains(part), "{why}");
        }
        assert_eq!(items(&json!({"todos": []})).map(|items| items.len()), Ok(0));
    }
}

//! The `TodoWrite` tool.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;

use crate::one_line::{counted, one_line};
use crate::parameters::parse;
use crate::{ToolContext, ToolOutput, TypedTool, prompt};

/// Maximum number of items that a pane shows.
const MAX_SHOWN: usize = 8;

/// Updates the agent's private to-do list. It is part of the conversation and shown in the agent's
/// pane; unlike the team's tasks, other members do not see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct TodoWrite;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The complete list
    todos: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Item {
    /// What to do
    #[schemars(length(min = 1))]
    content: String,
    status: Status,
    /// The present continuous form, for example `Running the tests`
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
impl TypedTool for TodoWrite {
    type Parameters = Parameters;
    const NAME: &'static str = "TodoWrite";
    const PROMPT: &'static str = prompt!("tools/TodoWrite");
    const KIND: ToolKind = ToolKind::Own;

    fn one_line(&self, input: &Value) -> String {
        let Ok(items) = items(input) else {
            return Self::NAME.into();
        };
        let now = items.iter().find(|item| item.status == Status::InProgress);
        let now = now.map_or(String::new(), |item| format!(": {}", item.active_form()));
        one_line(&format!("TodoWrite {}{now}", progress(&items)))
    }

    fn shown(&self, input: &Value) -> Vec<String> {
        let Ok(items) = items(input) else {
            return Vec::new();
        };
        let mut lines: Vec<String> = items.iter().take(MAX_SHOWN).map(line).collect();
        if items.len() > MAX_SHOWN {
            lines.push(format!("and {} more", items.len() - MAX_SHOWN));
        }
        lines
    }

    async fn call(&self, input: Parameters, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        input.items()?;
        Ok(ToolOutput::ok(
            "The list is saved. Continue with the item in progress and keep the list up to date.",
            "noted",
        ))
    }
}

impl Parameters {
    fn items(self) -> Result<Vec<Item>, String> {
        if (self.todos.iter()).any(|item| item.content.trim().is_empty()) {
            return Err("TodoWrite: an item has no content.".into());
        }
        Ok(self.todos)
    }
}

fn items(input: &Value) -> Result<Vec<Item>, String> {
    parse(TodoWrite::NAME, input.clone()).and_then(Parameters::items)
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
    fn a_pane_shows_a_list_as_short_lines() {
        assert_eq!(
            TodoWrite.one_line(&list(3)),
            "TodoWrite 1 of 3 items done: doing 1"
        );
        assert_eq!(
            TodoWrite.shown(&list(3)),
            ["[x] step 0", "[>] doing 1", "[ ] step 2"]
        );
        let long = TodoWrite.shown(&list(20));
        assert_eq!(long.len(), MAX_SHOWN + 1);
        assert_eq!(long[MAX_SHOWN], "and 12 more");
    }

    #[test]
    fn invalid_lists_are_rejected_with_the_reason() {
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

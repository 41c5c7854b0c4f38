//! The `TodoWrite` tool.

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;

use crate::input::Input;
use crate::one_line::{counted, one_line};
use crate::{Tool, ToolContext, ToolOutput};

/// Items that a pane shows of a list.
const SHOWN: usize = 8;

/// Keeps an agent's own list of steps. The list stands in its conversation, for the model, and in its pane, for people;
/// nobody else takes part in it, unlike in the team's tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct TodoWrite;

/// One step.
struct Item<'a> {
    content: &'a str,
    status: &'a str,
    active_form: &'a str,
}

#[async_trait]
impl Tool for TodoWrite {
    fn name(&self) -> &'static str {
        "TodoWrite"
    }

    fn description(&self) -> String {
        "Writes your own list of steps, as a whole, in place of the one before. For work of three steps or more: one \
         step is `in_progress` at a time, and each is set to `completed` as soon as it is done, not later. Nobody else \
         works on this list; for work that the team shares, use the task tools."
            .into()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "description": "The whole list",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string", "minLength": 1, "description": "What is to be done"},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                            "activeForm": {"type": "string", "description": "The same while it is under way: `Running the tests`"}
                        },
                        "required": ["content", "status", "activeForm"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["todos"],
            "additionalProperties": false
        })
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Own
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    fn one_line(&self, input: &Value) -> String {
        let Ok(items) = items(input) else {
            return "TodoWrite".into();
        };
        let now = items.iter().find(|item| item.status == "in_progress");
        let now = now.map_or(String::new(), |item| format!(": {}", item.active_form));
        one_line(&format!("TodoWrite {}{now}", progress(&items)))
    }

    fn shown(&self, input: &Value) -> Vec<String> {
        let items = items(input).unwrap_or_default();
        let mut lines: Vec<String> = items.iter().take(SHOWN).map(line).collect();
        if items.len() > SHOWN {
            lines.push(format!("and {} more", items.len() - SHOWN));
        }
        lines
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        match items(&input) {
            Ok(_) => ToolOutput::ok(
                "The list is written. Go on with the step that is in progress, and keep the list true.",
                "noted",
            ),
            Err(why) => ToolOutput::error(why),
        }
    }
}

fn items(input: &Value) -> Result<Vec<Item<'_>>, String> {
    let parameters = Input::new("TodoWrite", input, &["todos"])?;
    let Some(todos) = parameters.list("todos")? else {
        return Err("TodoWrite needs the parameter `todos`.".into());
    };
    todos.iter().map(item).collect()
}

fn item(todo: &Value) -> Result<Item<'_>, String> {
    let todo = Input::new(
        "A step",
        todo,
        &["content", "status", "activeForm", "id", "priority"],
    )?;
    let (content, status) = (todo.text("content")?, todo.text("status")?);
    if content.trim().is_empty() {
        return Err("A step of TodoWrite has no content.".into());
    }
    if !["pending", "in_progress", "completed"].contains(&status) {
        return Err(format!(
            "`{}` is no status of a step: use pending, in_progress or completed.",
            status.escape_debug()
        ));
    }
    Ok(Item {
        content,
        status,
        active_form: todo.optional_text("activeForm")?.unwrap_or(content),
    })
}

fn progress(items: &[Item<'_>]) -> String {
    let done = items
        .iter()
        .filter(|item| item.status == "completed")
        .count();
    format!("{done} of {} done", counted(items.len(), "step"))
}

fn line(item: &Item<'_>) -> String {
    let (sign, text) = match item.status {
        "completed" => ("[x]", item.content),
        "in_progress" => ("[>]", item.active_form),
        _ => ("[ ]", item.content),
    };
    one_line(&format!("{sign} {text}"))
}

#[cfg(test)]
mod tests {
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
            "TodoWrite 1 of 3 steps done: doing 1"
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
            (json!({}), "todos"),
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

//! Editing a request before it is approved.

use std::sync::Arc;

use serde_json::{Value, json};
use swarm_protocol::{RequestKind, RequestRecord, shortened};
use swarm_tools::Tool;

use crate::app::App;
use crate::commands::editor::EditorDraft;
use crate::failure::{Failure, Result};

/// Maximum characters in the line of a changed call whose tool is not built in.
const LONGEST_CALL: usize = 100;

/// Returns the changed input: `given`, or the text from the person's editor. `None` if `given` changes
/// nothing. A text that was left unchanged or emptied in the editor is an error, so that closing the
/// editor allows nothing.
pub(super) fn edited(
    app: &App,
    asked: &RequestRecord,
    given: Option<&str>,
) -> Result<Option<Value>> {
    let is_plan = matches!(asked.request, RequestKind::Plan { .. });
    let input = asked.request.input().into_owned();
    if matches!(asked.request, RequestKind::Sandbox { .. }) {
        return Err(Failure::usage(
            "a host cannot be changed: deny the request instead",
        ));
    }
    if let Some(text) = given {
        let edited = parsed(text)?;
        check(&asked.request, &edited)?;
        return Ok((edited != input).then_some(edited));
    }
    let (suffix, before) = if is_plan {
        let plan = input["plan"].as_str().unwrap_or_default();
        ("md", plan.to_owned())
    } else {
        ("json", serde_json::to_string_pretty(&input)?)
    };
    let draft = EditorDraft {
        name: &format!("edit-{}.{suffix}", asked.short()),
        text: &before,
        without: "pass the new input with `--input JSON`",
        undone: "nothing was answered",
    };
    let text = draft.edit(app)?;
    if text.trim().is_empty() {
        return Err(Failure::usage("the text is empty: nothing was answered"));
    }
    let edited = if is_plan {
        json!({ "plan": text })
    } else {
        parsed(&text)?
    };
    // Editors add a line break at the end.
    if edited == input || text.trim_end() == before.trim_end() {
        let (prefix, id) = (app.command_prefix(), asked.short());
        let hint = format!("{prefix}approve {id} allows it unchanged");
        return Err(Failure::usage("nothing was changed: nothing was answered").with_hint(hint));
    }
    check(&asked.request, &edited)?;
    Ok(Some(edited))
}

/// Checks that the tool accepts the changed input, so that the answer is not spent on a call that
/// fails.
fn check(asked: &RequestKind, edited: &Value) -> Result<()> {
    let is_plan = matches!(asked, RequestKind::Plan { .. });
    if is_plan
        && edited["plan"]
            .as_str()
            .is_none_or(|plan| plan.trim().is_empty())
    {
        let message = "`plan` is not a text, or it is empty: nothing was answered";
        return Err(Failure::usage(message));
    }
    let Some(tool) = built_in(asked.tool()) else {
        return Ok(());
    };
    // The tool of another program may have this name and other parameters.
    if tool.check_parameters(&asked.input()).is_err() {
        return Ok(());
    }
    tool.check_parameters(edited)
        .map_err(|why| Failure::usage(format!("{why}: nothing was answered")))
}

/// Formats in one line the call as it was allowed with this input.
pub(super) fn changed_call(asked: &RequestKind, input: &Value) -> String {
    let line = built_in(asked.tool()).map_or_else(
        || shortened(&format!("{} {input}", asked.tool()), LONGEST_CALL),
        |tool| tool.one_line(input),
    );
    swarm_ui::clean_line(&line)
}

fn built_in(name: &str) -> Option<Arc<dyn Tool>> {
    swarm_tools::builtin()
        .into_iter()
        .find(|tool| tool.name() == name)
}

fn parsed(text: &str) -> Result<Value> {
    match serde_json::from_str(text) {
        Ok(input @ Value::Object(_)) => Ok(input),
        Ok(_) => Err(Failure::usage(
            "the input is not a JSON object: nothing was answered",
        )),
        Err(error) => Err(Failure::usage(format!(
            "the input is not JSON ({error}): nothing was answered"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use swarm_protocol::PermissionMode;

    use super::*;

    fn call(tool: &str, input: Value) -> RequestKind {
        RequestKind::Permission {
            tool: tool.to_owned(),
            tool_use_id: "t1".to_owned(),
            input,
            digest: String::new(),
            suggestions: Vec::new(),
        }
    }

    #[test]
    fn only_an_input_that_the_tool_accepts_is_an_answer() {
        let bash = || call("Bash", json!({"command": "make"}));
        let plan = || RequestKind::Plan {
            plan: "# Fix it".to_owned(),
            plan_file_path: "/plan.md".to_owned(),
            mode: PermissionMode::Default,
        };
        for (asked, edited, is_accepted) in [
            (bash(), json!({"command": "make all"}), true),
            (bash(), json!({"foo": 1}), false),
            (plan(), json!({"plan": "# Fix it all"}), true),
            (plan(), json!({"plan": " "}), false),
            (plan(), json!({"foo": 1}), false),
            // The tool of another program, and an MCP tool.
            (
                call("Bash", json!({"cmd": "make"})),
                json!({"foo": 1}),
                true,
            ),
            (call("mcp__a__b", json!({})), json!({"foo": 1}), true),
        ] {
            let checked = check(&asked, &edited);
            assert_eq!(checked.is_ok(), is_accepted, "{asked:?} {edited}");
        }
    }

    #[test]
    fn the_changed_call_is_shown() {
        let asked = call("Bash", json!({"command": "touch one"}));
        let line = changed_call(&asked, &json!({"command": "touch two"}));
        assert!(line.contains("touch two"), "{line}");
        let asked = call("mcp__a__b", json!({}));
        assert_eq!(
            changed_call(&asked, &json!({"c": 1})),
            r#"mcp__a__b {"c":1}"#
        );
    }
}

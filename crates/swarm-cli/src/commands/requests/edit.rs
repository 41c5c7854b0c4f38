//! Editing a request before it is approved.

use serde_json::{Value, json};
use swarm_protocol::{RequestKind, RequestRecord};

use crate::app::App;
use crate::commands::editor::EditorDraft;
use crate::failure::{Failure, Result};

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
    Ok(Some(edited))
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

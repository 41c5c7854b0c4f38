//! The `hooks` object. This version runs no hooks; whoever relies on one should hear of it, and of mistakes in it.

use serde_json::Value;

use super::file::File;

/// One sentence for each thing that a user should know about the hooks of a file.
pub(super) fn remarks(file: &File) -> Vec<String> {
    let name = file.name();
    let events = match file.document.get("hooks") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(events)) => events,
        Some(_) => return vec![format!("{name}: `hooks` must be an object")],
    };
    let mut remarks: Vec<String> = events
        .iter()
        .filter_map(|(event, groups)| wrong(event, groups))
        .map(|what| format!("{name}: {what}"))
        .collect();
    if !events.is_empty() {
        remarks.push(format!("{name}: its hooks are not run by this version"));
    }
    remarks
}

/// What is wrong with the groups of an event: each has a list of hooks, and each of those a type.
fn wrong(event: &str, groups: &Value) -> Option<String> {
    let event = event.escape_debug();
    let Some(groups) = groups.as_array() else {
        return Some(format!("`hooks.{event}` must be a list"));
    };
    for group in groups {
        let Some(hooks) = group["hooks"].as_array() else {
            return Some(format!(
                "a group of `hooks.{event}` lacks its list of `hooks`"
            ));
        };
        if group
            .get("matcher")
            .is_some_and(|matcher| !matcher.is_string())
        {
            return Some(format!("a `matcher` of `hooks.{event}` must be a text"));
        }
        for hook in hooks {
            match hook["type"].as_str() {
                Some("command") if !hook["command"].is_string() => {
                    return Some(format!("a hook of `hooks.{event}` lacks its `command`"));
                }
                Some(_) => {}
                None => return Some(format!("a hook of `hooks.{event}` lacks its `type`")),
            }
        }
    }
    None
}

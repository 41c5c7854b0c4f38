//! Tool calls of the agent in the form of swarm's own tools, so that rules, modes and hooks apply
//! to them.

use std::path::Path;

use serde_json::{Value, json};
use swarm_agent::ForeignCall;
use swarm_protocol::{ToolKind, shortened};
use swarm_tools::{ToolContext, one_line};

use crate::program::quoted;

/// Maximum length of a title in front of an input, in characters.
const MAX_TITLE: usize = 40;

/// A call that the agent asks about.
#[derive(Debug)]
pub(super) struct Announced {
    /// The equivalent calls, all of which must be permitted.
    pub(super) calls: Vec<ForeignCall>,
    /// Calls that swarm will make for the agent: a tool and its input.
    pub(super) runs: Vec<(String, Value)>,
}

/// Returns the name under which the pane shows a call.
pub(super) fn shown_name(call: &Value) -> &'static str {
    match call["kind"].as_str() {
        Some("read") => "Read",
        Some("edit") => "Edit",
        Some("delete") => "Delete",
        Some("move") => "Move",
        Some("search") => "Search",
        Some("execute") => "Bash",
        Some("think") => "Think",
        Some("fetch") => "WebFetch",
        _ => "Tool",
    }
}

/// Returns the first line of a call's title.
pub(super) fn title(call: &Value) -> String {
    let title = call["title"].as_str().unwrap_or_default();
    one_line(title.trim().trim_matches('`'))
}

/// Returns a call that the agent announces (`ToolCallUpdate`).
pub(super) fn announced(call: &Value, context: &ToolContext) -> Announced {
    let diffs = diffs(call);
    let paths = paths(call, &context.cwd);
    if !diffs.is_empty() {
        let is_new = |path: &&String| diffs.iter().all(|diff| diff.path != **path);
        let others = paths.iter().filter(is_new);
        let others = others.map(|path| on_path(call, "Edit", path, ToolKind::Edit));
        // It may write the files as a whole.
        let runs = diffs.iter().map(|diff| {
            let input = json!({"file_path": diff.path, "content": diff.new});
            ("Write".to_owned(), input)
        });
        return Announced {
            runs: runs.collect(),
            calls: diffs
                .iter()
                .map(|diff| diff.call(call))
                .chain(others)
                .collect(),
        };
    }
    let on_all = |tool: &str, kind: ToolKind| -> Vec<_> {
        let calls = paths.iter().map(|path| on_path(call, tool, path, kind));
        calls.collect()
    };
    let calls = match call["kind"].as_str() {
        Some("execute") => vec![execute(call)],
        Some("edit" | "move") => on_all("Edit", ToolKind::Edit),
        Some("delete") => {
            let words: Vec<_> = paths.iter().map(|path| quoted(path)).collect();
            let input = json!({"command": format!("rm -r -- {}", words.join(" "))});
            let removed =
                (!words.is_empty()).then(|| foreign(call, "Bash", input, ToolKind::Execute));
            removed.into_iter().collect()
        }
        Some("read" | "search") if paths.is_empty() => {
            let directory = context.cwd.display().to_string();
            vec![on_path(call, "Read", &directory, ToolKind::Read)]
        }
        Some("read" | "search") => on_all("Read", ToolKind::Read),
        Some("fetch") => fetch(call).into_iter().collect(),
        // Without a kind, a command line in the input decides.
        _ => {
            let command = command(&call["rawInput"]);
            command.map(|_| execute(call)).into_iter().collect()
        }
    };
    Announced {
        calls: if calls.is_empty() {
            vec![other(call)]
        } else {
            calls
        },
        runs: Vec::new(),
    }
}

/// Returns a call of one of swarm's file tools.
fn on_path(call: &Value, tool: &str, path: &str, kind: ToolKind) -> ForeignCall {
    foreign(call, tool, json!({"file_path": path}), kind)
}

fn fetch(call: &Value) -> Option<ForeignCall> {
    let url = call["rawInput"]["url"].as_str()?;
    let input = json!({"url": url, "prompt": ""});
    Some(foreign(call, "WebFetch", input, ToolKind::Web))
}

/// Returns a call that no tool of swarm is like. Its line has the input too, because the title is the
/// agent's own words.
fn other(call: &Value) -> ForeignCall {
    let word = call["kind"].as_str().unwrap_or("other");
    let input = call["rawInput"].as_object().cloned().unwrap_or_default();
    let input = Value::Object(input);
    let mut other = foreign(call, &format!("acp__{word}"), input, ToolKind::Other);
    if other.input != json!({}) {
        let title = shortened(&other.line, MAX_TITLE);
        other.line = one_line(&format!("{title} {}", other.input));
    }
    other
}

pub(super) fn command_call(id: &str, command: &str) -> ForeignCall {
    ForeignCall {
        id: id.to_owned(),
        tool: "Bash".to_owned(),
        input: json!({"command": command}),
        line: one_line(command),
        kind: ToolKind::Execute,
    }
}

fn foreign(call: &Value, tool: &str, input: Value, kind: ToolKind) -> ForeignCall {
    ForeignCall {
        id: call["toolCallId"].as_str().unwrap_or_default().to_owned(),
        tool: tool.to_owned(),
        input,
        line: title(call),
        kind,
    }
}

/// A changed file of a call.
struct Diff {
    path: String,
    /// `None` for a new file.
    old: Option<String>,
    new: String,
}

impl Diff {
    fn call(&self, call: &Value) -> ForeignCall {
        let path = &self.path;
        let (tool, input) = match &self.old {
            Some(old) if !old.is_empty() => (
                "Edit",
                json!({"file_path": path, "old_string": old, "new_string": self.new}),
            ),
            _ => ("Write", json!({"file_path": path, "content": self.new})),
        };
        foreign(call, tool, input, ToolKind::Edit)
    }
}

fn diffs(call: &Value) -> Vec<Diff> {
    let content = call["content"].as_array().into_iter().flatten();
    let diffs = content.filter(|content| content["type"] == "diff");
    diffs
        .filter_map(|diff| {
            Some(Diff {
                path: diff["path"].as_str()?.to_owned(),
                old: diff["oldText"].as_str().map(str::to_owned),
                new: diff["newText"].as_str().unwrap_or_default().to_owned(),
            })
        })
        .collect()
}

fn execute(call: &Value) -> ForeignCall {
    let command = command(&call["rawInput"]).unwrap_or_else(|| title(call));
    foreign(call, "Bash", json!({"command": command}), ToolKind::Execute)
}

/// Returns the command line of an input: a text, or a list of words.
fn command(input: &Value) -> Option<String> {
    let found = ["command", "cmd"].iter().map(|field| &input[*field]);
    found.into_iter().find_map(|found| match found {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(quoted));
            let words: Vec<_> = words.collect::<Option<_>>()?;
            Some(words.join(" "))
        }
        _ => None,
    })
}

/// Returns all paths that the agent names, each once. Relative ones are below its directory.
fn paths(call: &Value, cwd: &Path) -> Vec<String> {
    let locations = call["locations"].as_array().into_iter().flatten();
    let locations = locations.map(|location| &location["path"]);
    let fields = ["file_path", "path", "filePath", "absolute_path"];
    let named = fields.iter().map(|field| &call["rawInput"][*field]);
    let mut paths: Vec<String> = Vec::new();
    for path in locations.chain(named).filter_map(Value::as_str) {
        let path = cwd.join(path).display().to_string();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarm_tools::Caller;

    fn context() -> ToolContext {
        let caller = Caller {
            name: "bob".parse().unwrap(),
            agent_id: None,
            team: None,
        };
        ToolContext::new("/work".into(), caller)
    }

    fn one(call: &Value) -> ForeignCall {
        announced(call, &context()).calls.remove(0)
    }

    #[test]
    fn every_path_of_a_call_is_judged() {
        let context = context();
        let inputs = |call: &Value| -> Vec<_> {
            let calls = announced(call, &context).calls;
            calls.into_iter().map(|call| call.input).collect()
        };
        let two = json!([{"path": "/work/a"}, {"path": "/etc/passwd"}]);
        let read = json!({"kind": "read", "locations": two, "rawInput": {"path": "a"}});
        let expected = [
            json!({"file_path": "/work/a"}),
            json!({"file_path": "/etc/passwd"}),
        ];
        assert_eq!(inputs(&read), expected);
        let moved = json!({"kind": "move", "locations": two});
        assert_eq!(inputs(&moved), expected);
        let deleted = json!({"kind": "delete", "locations": two});
        assert_eq!(
            inputs(&deleted)[0]["command"],
            "rm -r -- /work/a /etc/passwd"
        );
        let edit = json!({"kind": "edit", "locations": two, "content": [
            {"type": "diff", "path": "/work/a", "oldText": "1", "newText": "2"}]});
        assert_eq!(inputs(&edit)[1], expected[1]);
    }

    #[test]
    fn calls_get_the_names_and_inputs_that_rules_know() {
        let words =
            json!({"kind": "execute", "title": "x", "rawInput": {"command": ["touch", "a b"]}});
        assert_eq!(one(&words).input["command"], "touch 'a b'");
        let titled = json!({"kind": "execute", "title": "`rm -r build`"});
        assert_eq!(one(&titled).input["command"], "rm -r build");
        let edit = json!({"kind": "edit", "content": [
            {"type": "diff", "path": "/work/a", "oldText": "1", "newText": "2"}]});
        assert_eq!(one(&edit).tool, "Edit");
        assert_eq!(one(&edit).input["new_string"], "2");
        let new = json!({"kind": "edit", "content": [
            {"type": "diff", "path": "/work/a", "oldText": null, "newText": "2"}]});
        assert_eq!(one(&new).tool, "Write");
        let read = json!({"kind": "read", "locations": [{"path": "/etc/passwd"}]});
        assert_eq!(one(&read).input["file_path"], "/etc/passwd");
        let delete = json!({"kind": "delete", "rawInput": {"path": "/work/it's"}});
        assert_eq!(one(&delete).input["command"], r"rm -r -- '/work/it'\''s'");
        let other = json!({"kind": "other", "title": "send", "rawInput": {"to": "alice"}});
        assert_eq!(
            (one(&other).tool.as_str(), one(&other).kind),
            ("acp__other", ToolKind::Other)
        );
        assert_eq!(one(&other).line, r#"send {"to":"alice"}"#);
        let unnamed = json!({"title": "Shell", "rawInput": {"command": "ls"}});
        assert_eq!(one(&unnamed).tool, "Bash");
    }
}

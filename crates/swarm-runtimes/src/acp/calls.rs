//! Tool calls of the agent in the form of swarm's own tools, so that rules, modes and hooks apply
//! to them.

use serde_json::{Value, json};
use swarm_agent::ForeignCall;
use swarm_protocol::ToolKind;
use swarm_tools::{ToolContext, one_line};

/// A call that the agent asks about.
#[derive(Debug)]
pub(super) struct Announced {
    /// The equivalent calls, all of which must be permitted.
    pub(super) calls: Vec<ForeignCall>,
    /// Paths and new contents of the files that it will write as a whole.
    pub(super) writes: Vec<(String, String)>,
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
    if !diffs.is_empty() {
        let writes = diffs
            .iter()
            .map(|diff| (diff.path.clone(), diff.new.clone()));
        return Announced {
            writes: writes.collect(),
            calls: diffs.iter().map(|diff| diff.call(call)).collect(),
        };
    }
    let input = &call["rawInput"];
    let found = match call["kind"].as_str() {
        Some("execute") => Some(execute(call)),
        Some("edit") => path(call).map(|path| ("Edit", json!({"file_path": path}), ToolKind::Edit)),
        Some("delete") => path(call).map(|path| {
            let command = format!("rm -r -- {}", quoted(&path));
            ("Bash", json!({"command": command}), ToolKind::Execute)
        }),
        Some("read" | "search") => {
            let path = path(call).unwrap_or_else(|| context.cwd.display().to_string());
            Some(("Read", json!({"file_path": path}), ToolKind::Read))
        }
        Some("fetch") => text(input, &["url"])
            .map(|url| ("WebFetch", json!({"url": url, "prompt": ""}), ToolKind::Web)),
        // Without a kind, a command line in the input decides.
        _ => command(input).map(|_| execute(call)),
    };
    let (tool, input, kind) = if let Some((tool, input, kind)) = found {
        (tool.to_owned(), input, kind)
    } else {
        let word = call["kind"].as_str().unwrap_or("other");
        let input = Some(input).filter(|input| input.is_object());
        let input = input.cloned().unwrap_or_else(|| json!({}));
        (format!("acp__{word}"), input, ToolKind::Other)
    };
    let call = foreign(call, &tool, input, kind);
    Announced {
        calls: vec![call],
        writes: Vec::new(),
    }
}

/// Returns a call of a command line.
pub(super) fn command_call(id: &str, command: &str) -> ForeignCall {
    ForeignCall {
        id: id.to_owned(),
        tool: "Bash".to_owned(),
        input: json!({"command": command}),
        line: one_line(command),
        kind: ToolKind::Execute,
    }
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
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

fn execute(call: &Value) -> (&'static str, Value, ToolKind) {
    let command = command(&call["rawInput"]).unwrap_or_else(|| title(call));
    ("Bash", json!({"command": command}), ToolKind::Execute)
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

fn path(call: &Value) -> Option<String> {
    let location = call["locations"][0]["path"].as_str().map(str::to_owned);
    let fields = ["file_path", "path", "filePath", "absolute_path"];
    location.or_else(|| text(&call["rawInput"], &fields))
}

fn text(input: &Value, fields: &[&str]) -> Option<String> {
    let mut found = fields.iter().filter_map(|field| input[*field].as_str());
    found.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarm_tools::Caller;

    fn one(call: &Value) -> ForeignCall {
        let caller = Caller {
            name: "bob".parse().unwrap(),
            agent_id: None,
            team: None,
        };
        let context = ToolContext::new("/work".into(), caller);
        announced(call, &context).calls.remove(0)
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
        let unnamed = json!({"title": "Shell", "rawInput": {"command": "ls"}});
        assert_eq!(one(&unnamed).tool, "Bash");
    }
}

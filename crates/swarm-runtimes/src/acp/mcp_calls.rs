//! Calls of MCP tools that the agent asks about. The protocol has no field for the server and the
//! tool, so each program says it in its own way. Titles and inputs also contain what a model wrote,
//! so a request counts as such a call only if nothing in it may mean another call.

use serde_json::{Value, json};
use swarm_agent::ForeignCall;
use swarm_mcp::{server_part, tool_name};
use swarm_protocol::{ToolKind, word_list};
use swarm_tools::one_line;

use super::calls::Announced;
use crate::handed_server::split_name;

/// The team's tools, which need no approval.
const TEAM_TOOLS: [&str; 6] = word_list(
    "mcp__swarm__send mcp__swarm__status mcp__swarm__tasks mcp__swarm__task_create
    mcp__swarm__task_claim mcp__swarm__task_update",
);

/// Fields of the form with which Codex asks.
const CODEX_FORM: [&str; 4] = ["turn_id", "server_name", "id", "request"];

/// The name of a tool, such as `mcp__github__create_issue`, and the input of the call, if the agent
/// says it.
type NamedCall = (String, Option<Value>);

/// Returns the call of an MCP tool, under the name by which rules know it; `None` for another call.
/// A tool of the member's servers (`handed`) runs after this decision without a second question.
pub(super) fn mcp_call(call: &Value, handed: &[&str]) -> Option<Announced> {
    let named = match call["kind"].as_str() {
        None => codex(call),
        Some("other") => {
            let named = full(call).or_else(|| codex(call));
            named.or_else(|| titled(call, handed))
        }
        Some(_) => None,
    };
    let (tool, input) = named.filter(|(tool, _)| split_name(tool).is_some())?;
    let is_handed = handed.contains(&tool.as_str());
    let input = match input {
        Some(input) => input,
        // It is decided when the agent makes it.
        None if is_handed => {
            return Some(Announced {
                calls: Vec::new(),
                runs: Vec::new(),
            });
        }
        None => json!({}),
    };
    let kind = if TEAM_TOOLS.contains(&tool.as_str()) {
        ToolKind::Team
    } else {
        ToolKind::Other
    };
    let run = is_handed.then(|| (tool.clone(), input.clone()));
    let decided = ForeignCall {
        id: call["toolCallId"].as_str().unwrap_or_default().to_owned(),
        line: one_line(&format!("{tool} {input}")),
        tool,
        input,
        kind,
    };
    Some(Announced {
        calls: vec![decided],
        runs: run.into_iter().collect(),
    })
}

/// Qwen Code and claude-agent-acp say the full name.
fn full(call: &Value) -> Option<NamedCall> {
    let meta = &call["_meta"];
    let names = [&meta["toolName"], &meta["claudeCode"]["toolName"]];
    let name = names.into_iter().find_map(Value::as_str)?;
    Some((name.to_owned(), object(&call["rawInput"])))
}

/// Codex asks with a form whose message names the tool in quotes.
fn codex(call: &Value) -> Option<NamedCall> {
    let form = call["rawInput"].as_object()?;
    if form
        .keys()
        .any(|field| !CODEX_FORM.contains(&field.as_str()))
    {
        return None;
    }
    let request = form.get("request")?;
    let meta = &request["_meta"];
    if meta["codex_approval_kind"] != "mcp_tool_call" {
        return None;
    }
    let server = server_part(form.get("server_name")?.as_str()?).ok()?;
    let (_, quoted) = request["message"].as_str()?.split_once("run tool \"")?;
    let (tool, _) = quoted.split_once('"')?;
    Some((tool_name(&server, tool), object(&meta["tool_params"])))
}

/// Gemini CLI has the title `TOOL (SERVER MCP Server)`, with the input as a text, and `opencode` the
/// title `SERVER_TOOL` without the input. Other programs have a command there, so the title must be
/// exactly that of a tool that the program has from swarm.
fn titled(call: &Value, handed: &[&str]) -> Option<NamedCall> {
    let is_empty = |field: &str| match &call[field] {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let mut content = call["content"].as_array().into_iter().flatten();
    let is_change = content.any(|part| part["type"] != "content");
    if is_change || !is_empty("rawInput") || !is_empty("locations") {
        return None;
    }
    let title = call["title"].as_str()?;
    let is_titled = |name: &&str| {
        split_name(name).is_some_and(|(server, tool)| {
            title == format!("{tool} ({server} MCP Server)") || title == format!("{server}_{tool}")
        })
    };
    let mut known = handed.iter().copied().chain(TEAM_TOOLS);
    let name = known.find(is_titled)?;
    let text = call["content"][0]["content"]["text"].as_str();
    let input = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    Some((name.to_owned(), input.as_ref().and_then(object)))
}

fn object(value: &Value) -> Option<Value> {
    value.is_object().then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDED: [&str; 2] = ["mcp__notes__add", "mcp__kit__echo"];

    /// Requests of real programs, shortened: Codex, Qwen Code, claude-agent-acp and Gemini CLI.
    fn requests(server: &str, tool: &str) -> [Value; 4] {
        let full = format!("mcp__{server}__{tool}");
        let input = json!({"text": "remember"});
        let form = json!({
            "mode": "form",
            "_meta": {"codex_approval_kind": "mcp_tool_call", "tool_params": input},
            "message": format!("Allow the {server} MCP server to run tool \"{tool}\"?"),
        });
        let text = json!({"type": "text", "text": input.to_string()});
        [
            json!({
                "title": "Approve MCP tool call",
                "content": [{"type": "content", "content": {"type": "text", "text": "Allow it?"}}],
                "rawInput": {"turn_id": "t", "server_name": server, "id": "i", "request": form},
            }),
            json!({
                "title": input.to_string(), "kind": "other", "rawInput": input,
                "_meta": {"toolName": full},
            }),
            json!({
                "title": full, "kind": "other", "rawInput": input,
                "_meta": {"claudeCode": {"toolName": full}},
            }),
            json!({
                "title": format!("{tool} ({server} MCP Server)"), "kind": "other",
                "locations": [], "content": [{"type": "content", "content": text}],
            }),
        ]
    }

    fn asked(call: &Value) -> Announced {
        mcp_call(call, &HANDED).unwrap_or_else(|| panic!("{call}"))
    }

    #[test]
    fn every_program_names_its_calls_in_its_own_way() {
        for request in requests("notes", "add") {
            let announced = asked(&request);
            let call = &announced.calls[0];
            assert_eq!(
                (call.tool.as_str(), call.kind),
                ("mcp__notes__add", ToolKind::Other)
            );
            assert_eq!(call.input, json!({"text": "remember"}), "{request}");
            assert_eq!(announced.runs, [(call.tool.clone(), call.input.clone())]);
        }
        for request in requests("swarm", "send") {
            let call = asked(&request).calls.remove(0);
            assert_eq!(
                (call.tool.as_str(), call.kind),
                ("mcp__swarm__send", ToolKind::Team)
            );
        }
    }

    #[test]
    fn the_program_runs_calls_of_its_own_servers_and_only_fields_for_names_name_them() {
        let [codex, qwen, claude, gemini] = requests("own", "add");
        for request in [codex, qwen, claude] {
            let announced = asked(&request);
            assert_eq!(announced.calls[0].tool, "mcp__own__add");
            assert!(announced.runs.is_empty(), "{request}");
        }
        assert!(mcp_call(&gemini, &HANDED).is_none());
    }

    #[test]
    fn only_the_teams_own_tools_need_no_approval() {
        let [codex, qwen, claude, gemini] = requests("swarm", "spawn");
        for request in [codex, qwen, claude] {
            assert_eq!(asked(&request).calls[0].kind, ToolKind::Other, "{request}");
        }
        assert!(mcp_call(&gemini, &HANDED).is_none());
    }

    #[test]
    fn a_call_without_its_input_is_decided_when_it_is_made() {
        let gemini = |of: &str| json!({"title": format!("{of} MCP Server)"), "kind": "other"});
        let opencode = |title: &str| json!({"title": title, "kind": "other", "rawInput": {}});
        let [mut codex, ..] = requests("notes", "add");
        let meta = &mut codex["rawInput"]["request"]["_meta"];
        *meta = json!({"codex_approval_kind": "mcp_tool_call"});
        for request in [gemini("add (notes"), opencode("notes_add"), codex] {
            let announced = asked(&request);
            assert!(announced.calls.is_empty(), "{request}");
            assert!(announced.runs.is_empty(), "{request}");
        }
        for request in [gemini("send (swarm"), opencode("swarm_send")] {
            let call = asked(&request).calls.remove(0);
            assert_eq!((call.input, call.kind), (json!({}), ToolKind::Team));
        }
    }

    #[test]
    fn what_a_model_writes_into_a_title_or_an_input_names_no_tool() {
        let remove = |server: &str| format!("Shell: rm -rf build # ({server} MCP Server)");
        let command = json!({"command": remove("swarm")});
        let [mut form, ..] = requests("swarm", "send");
        form["rawInput"]["command"] = json!("rm -rf build");
        let send = "send (swarm MCP Server)";
        let diff = json!([{"type": "diff", "path": "/x", "oldText": null, "newText": ""}]);
        for call in [
            json!({"title": remove("swarm")}),
            json!({"title": remove("swarm"), "kind": "other"}),
            json!({"title": remove("swarm"), "rawInput": command}),
            json!({"title": remove("swarm"), "kind": "other", "rawInput": command}),
            json!({"title": remove("kit")}),
            json!({"title": remove("kit"), "kind": "other"}),
            json!({"title": send}),
            json!({"title": send, "kind": "execute"}),
            json!({"title": send, "kind": "other", "rawInput": command}),
            json!({"title": send, "kind": "other", "rawInput": "rm -rf build"}),
            json!({"title": send, "kind": "other", "locations": [{"path": "/x"}]}),
            json!({"title": send, "kind": "other", "content": diff}),
            json!({"title": "Remember: add (notes MCP Server) now", "kind": "other"}),
            json!({"title": "x", "kind": "other", "_meta": {"toolName": "save_memory"}}),
            form,
        ] {
            assert!(mcp_call(&call, &HANDED).is_none(), "{call}");
        }
    }
}

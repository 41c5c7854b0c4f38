//! Calls of MCP tools that the agent asks about. The protocol has no field for the server and the
//! tool, so each program says it in its own way.

use serde_json::{Value, json};
use swarm_agent::ForeignCall;
use swarm_mcp::{server_part, tool_name};
use swarm_protocol::ToolKind;
use swarm_tools::one_line;

use super::calls::Announced;
use crate::handed_server::{TEAM_SERVER, split_name};

/// Returns the call of an MCP tool, under the name by which rules know it; `None` for another call.
/// A tool of the member's servers (`is_handed`) runs after this decision without a second question.
pub(super) fn mcp_call(call: &Value, is_handed: impl Fn(&str) -> bool) -> Option<Announced> {
    if call["kind"].as_str().is_some_and(|kind| kind != "other") {
        return None;
    }
    let tool = name(call)?;
    let (server, _) = split_name(&tool)?;
    let is_handed = is_handed(&tool);
    let input = match input(call) {
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
    let kind = match server {
        TEAM_SERVER => ToolKind::Team,
        _ => ToolKind::Other,
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

/// Returns the name of the tool, such as `mcp__github__create_issue`.
fn name(call: &Value) -> Option<String> {
    let meta = &call["_meta"];
    // Qwen Code, claude-agent-acp.
    let full = [&meta["toolName"], &meta["claudeCode"]["toolName"]];
    if let Some(full) = full.into_iter().find_map(Value::as_str) {
        return Some(full.to_owned());
    }
    let (server, tool) = codex(&call["rawInput"]).or_else(|| gemini(call))?;
    Some(tool_name(&server_part(server).ok()?, tool))
}

/// Codex asks with a form whose message names the tool in quotes.
fn codex(input: &Value) -> Option<(&str, &str)> {
    let request = &input["request"];
    if request["_meta"]["codex_approval_kind"] != "mcp_tool_call" {
        return None;
    }
    let message = request["message"].as_str()?;
    let (_, tool) = message.split_once("run tool \"")?;
    Some((input["server_name"].as_str()?, tool.split_once('"')?.0))
}

/// Gemini CLI has the title `TOOL (SERVER MCP Server)`.
fn gemini(call: &Value) -> Option<(&str, &str)> {
    let title = call["title"].as_str()?.strip_suffix(" MCP Server)")?;
    let (tool, server) = title.split_once(" (")?;
    Some((server, tool))
}

/// Returns the input of the call, if the agent says it.
fn input(call: &Value) -> Option<Value> {
    let raw = &call["rawInput"];
    let params = &raw["request"]["_meta"]["tool_params"];
    let found = [params, raw].into_iter().find(|input| input.is_object());
    found.cloned().or_else(|| {
        let text = call["content"][0]["content"]["text"].as_str()?;
        let input: Value = serde_json::from_str(text).ok()?;
        input.is_object().then_some(input)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of real programs, shortened: Codex, Gemini CLI, Qwen Code and claude-agent-acp.
    fn requests(server: &str) -> [Value; 4] {
        let full = format!("mcp__{server}__add");
        let input = json!({"text": "remember"});
        let form = json!({
            "_meta": {"codex_approval_kind": "mcp_tool_call", "tool_params": input},
            "message": format!("Allow the {server} MCP server to run tool \"add\"?"),
        });
        let text = json!({"type": "text", "text": input.to_string()});
        [
            json!({
                "title": "Approve MCP tool call",
                "rawInput": {"server_name": server, "request": form},
            }),
            json!({
                "title": format!("add ({server} MCP Server)"), "kind": "other",
                "content": [{"type": "content", "content": text}],
            }),
            json!({
                "title": input.to_string(), "kind": "other", "rawInput": input,
                "_meta": {"toolName": full},
            }),
            json!({
                "title": full, "kind": "other", "rawInput": input,
                "_meta": {"claudeCode": {"toolName": full}},
            }),
        ]
    }

    fn asked(call: &Value, is_handed: bool) -> Announced {
        mcp_call(call, |_| is_handed).unwrap_or_else(|| panic!("{call}"))
    }

    #[test]
    fn every_program_names_its_calls_in_its_own_way() {
        for request in requests("notes") {
            let announced = asked(&request, true);
            let call = &announced.calls[0];
            assert_eq!(
                (call.tool.as_str(), call.kind),
                ("mcp__notes__add", ToolKind::Other)
            );
            assert_eq!(call.input, json!({"text": "remember"}), "{request}");
            assert_eq!(announced.runs, [(call.tool.clone(), call.input.clone())]);
            let runs = asked(&request, false).runs;
            assert!(runs.is_empty(), "the program runs a call of its own server");
        }
        for request in requests("swarm") {
            let call = asked(&request, false).calls.remove(0);
            assert_eq!(
                (call.tool.as_str(), call.kind),
                ("mcp__swarm__add", ToolKind::Team)
            );
        }
    }

    #[test]
    fn a_call_without_its_input_is_decided_when_it_is_made() {
        let request = json!({"title": "add (notes MCP Server)", "kind": "other"});
        assert!(asked(&request, true).calls.is_empty());
        assert_eq!(asked(&request, false).calls[0].input, json!({}));
    }

    #[test]
    fn other_calls_are_no_calls_of_mcp_tools() {
        let command = json!({"kind": "execute", "title": "add (notes MCP Server)"});
        let named = json!({"kind": "other", "title": "x", "_meta": {"toolName": "save_memory"}});
        let remembered = json!({"kind": "other", "title": "Remember: add (notes MCP Server) now"});
        for call in [command, named, remembered] {
            assert!(mcp_call(&call, |_| true).is_none(), "{call}");
        }
    }
}

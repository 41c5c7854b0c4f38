//! Tools of MCP servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use swarm_permissions::McpToolSpec;
use swarm_protocol::ToolKind;
use swarm_tools::{Tool, ToolContext, ToolOutput, one_line};

use crate::Result;
use crate::name::tool_name;
use crate::sdk::Answer;
use crate::server::Server;

/// Maximum characters of a description that models receive.
const DESCRIPTION_CHARS: usize = 2048;

/// A tool of an MCP server.
///
/// Annotations such as `readOnlyHint` are the server's claims: permission decisions ignore them,
/// and every call requires approval unless a rule matches it.
#[derive(Debug)]
struct McpTool {
    server: Arc<Server>,
    name: String,
    spec: McpToolSpec,
}

/// Creates the tools of a server, and messages about the rejected ones.
pub(crate) fn tools_of(
    server: &Arc<Server>,
    specs: &[McpToolSpec],
) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
    let (taken, refused) = name_tools(&server.part, specs);
    let tools = taken.into_iter().map(|(name, spec)| {
        let server = Arc::clone(server);
        Arc::new(McpTool { server, name, spec }) as Arc<dyn Tool>
    });
    (tools.collect(), refused)
}

#[async_trait]
impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> String {
        let text = &self.spec.description;
        match text.char_indices().nth(DESCRIPTION_CHARS) {
            Some((at, _)) => format!("{}… (truncated)", &text[..at]),
            None => text.clone(),
        }
    }

    fn input_schema(&self) -> Value {
        self.spec.input_schema.clone()
    }

    fn is_deferrable(&self) -> bool {
        true
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Other
    }

    fn one_line(&self, input: &Value) -> String {
        match input.as_object() {
            Some(fields) if !fields.is_empty() => one_line(&format!("{} {input}", self.name)),
            _ => self.name.clone(),
        }
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let Value::Object(arguments) = input else {
            return ToolOutput::error("The input is not a JSON object.");
        };
        let called = self.server.call(&self.spec.name, arguments, ctx);
        output(&self.server, called.await)
    }
}

/// Converts a server's answer to the output of a call.
pub(crate) fn output(server: &Server, answer: Result<Answer>) -> ToolOutput {
    match answer {
        Ok(answer) => {
            let text = truncate_result(answer.text, server.host.limits.result_chars);
            if answer.is_error {
                return ToolOutput::error(text).with_pictures(answer.pictures);
            }
            let lines = text.lines().count();
            let plural = if lines == 1 { "line" } else { "lines" };
            ToolOutput::ok(text, format!("ok, {lines} {plural}")).with_pictures(answer.pictures)
        }
        Err(error) => ToolOutput::error(format!("MCP server `{}`: {error}.", server.name)),
    }
}

/// Truncates a text to a number of characters, with a notice.
pub(crate) fn truncate_result(text: String, chars: usize) -> String {
    let Some((at, _)) = text.char_indices().nth(chars) else {
        return text;
    };
    let all = text.chars().count();
    format!(
        "{}\n\n[result truncated: {chars} of {all} characters are shown; request less at a time]",
        &text[..at]
    )
}

/// Assigns names to the tools of one server, in the order in which it lists them. Tools that would
/// share a name are rejected, because rules and calls could not tell them apart. The second list
/// contains one message per rejected name.
pub(crate) fn name_tools(
    server_part: &str,
    specs: &[McpToolSpec],
) -> (Vec<(String, McpToolSpec)>, Vec<String>) {
    let mut by_name: BTreeMap<String, Vec<&McpToolSpec>> = BTreeMap::new();
    for spec in specs {
        let name = tool_name(server_part, &spec.name);
        by_name.entry(name).or_default().push(spec);
    }
    let taken = specs.iter().filter_map(|spec| {
        let name = tool_name(server_part, &spec.name);
        (by_name.get(&name)?.len() == 1).then(|| (name, spec.clone()))
    });
    let refused = by_name.iter().filter(|(_, specs)| specs.len() > 1);
    let refused = refused.map(|(name, specs)| {
        let names: Vec<_> = specs
            .iter()
            .map(|spec| format!("`{}`", spec.name))
            .collect();
        format!(
            "the tools {} would share the name `{name}` and are ignored",
            names.join(" and ")
        )
    });
    (taken.collect(), refused.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_truncated_with_a_notice() {
        assert_eq!(truncate_result("äb".into(), 2), "äb");
        let cut = truncate_result("ä".repeat(10), 4);
        assert!(
            cut.starts_with("ääää\n\n[result truncated: 4 of 10"),
            "{cut}"
        );
    }

    #[test]
    fn tools_that_would_share_a_name_are_rejected_with_a_message() {
        let spec = |name: &str| McpToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: serde_json::json!({"type": "object"}),
        };
        let (taken, refused) = name_tools("s", &[spec("a.b"), spec("c"), spec("a/b")]);
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].0, "mcp__s__c");
        assert_eq!(
            refused,
            ["the tools `a.b` and `a/b` would share the name `mcp__s__a_b` and are ignored"]
        );
    }
}

//! Deferred tools. These servers load no schema on demand, so the client does: a tool is offered once a result of a tool
//! search refers to it, and the result shows its schema.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::message::ContentBlock;
use crate::request::{ModelRequest, ToolSpec};

/// Marks a reference in the JSON of a block.
const REFERENCE: &str = r#""tool_reference""#;

/// The tools of a request that its conversation has loaded or that are not deferred, in their order.
pub(super) fn offered(request: &ModelRequest) -> impl Iterator<Item = &ToolSpec> {
    let has_deferred = request.tools.iter().any(|tool| tool.deferred);
    let loaded = if has_deferred {
        loaded(request)
    } else {
        HashSet::new()
    };
    let tools = request.tools.iter();
    tools.filter(move |tool| !tool.deferred || loaded.contains(&tool.name))
}

/// The names to which results in the conversation refer.
fn loaded(request: &ModelRequest) -> HashSet<String> {
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    let results = blocks.filter(|block| block.result_id().is_some());
    results
        .filter(|block| block.json().contains(REFERENCE))
        .filter_map(|block| match block.block() {
            ContentBlock::Other(value) => Some(value),
            _ => None,
        })
        .flat_map(|value| value["content"].as_array().cloned().unwrap_or_default())
        .filter_map(|part| referred(&part).map(str::to_owned))
        .collect()
}

/// The name of the tool that a part of a result refers to.
pub(super) fn referred(part: &Value) -> Option<&str> {
    let is_reference = part["type"] == "tool_reference";
    part["tool_name"].as_str().filter(|_| is_reference)
}

/// What a model reads in place of a reference.
pub(super) fn shown(name: &str, tools: &[ToolSpec]) -> String {
    match tools.iter().find(|tool| tool.name == name) {
        Some(tool) => json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        })
        .to_string(),
        None => format!("The tool {name} is not available any more."),
    }
}

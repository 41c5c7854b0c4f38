//! `session/update`: what the agent reports while it works.

use serde_json::Value;
use swarm_agent::Turn;
use swarm_protocol::{AgentEvent, ContextUse, Usage};

use super::calls::{shown_name, title};
use crate::reply::Reply;

/// Draws one update. Unknown kinds are ignored, as the protocol demands.
pub(super) fn apply(update: &Value, turn: &Turn<'_>, reply: &mut Reply) {
    let id = || update["toolCallId"].as_str().unwrap_or_default();
    match update["sessionUpdate"].as_str() {
        Some("agent_message_chunk") => {
            if let Some(text) = update["content"]["text"].as_str() {
                reply.text(turn, text);
            }
        }
        Some("agent_thought_chunk") => {
            if let Some(text) = update["content"]["text"].as_str() {
                Reply::thinking(turn, text);
            }
        }
        Some("tool_call") => {
            let (tool, title) = (shown_name(update), title(update));
            let line = if title.starts_with(tool) {
                title
            } else {
                format!("{tool} {title}")
            };
            reply.call_started(turn, id(), tool, line);
            result(update, turn, reply);
        }
        Some("tool_call_update") => result(update, turn, reply),
        Some("plan") => plan(&update["entries"], turn),
        Some("usage_update") => {
            let (used, size) = (update["used"].as_u64(), update["size"].as_u64());
            if let (Some(tokens), Some(window)) = (used, size) {
                turn.emit(AgentEvent::Context(ContextUse { tokens, window }));
            }
        }
        _ => {}
    }
}

/// Shows the result of a call that has one.
fn result(update: &Value, turn: &Turn<'_>, reply: &mut Reply) {
    let ok = match update["status"].as_str() {
        Some("completed") => true,
        Some("failed") => false,
        _ => return,
    };
    let content = update["content"].as_array().into_iter().flatten();
    let texts: Vec<_> = content
        .filter_map(|content| match content["type"].as_str() {
            Some("content") => content["content"]["text"].as_str().map(str::to_owned),
            Some("diff") => Some(format!("changed {}", content["path"].as_str()?)),
            _ => None,
        })
        .collect();
    let id = update["toolCallId"].as_str().unwrap_or_default();
    reply.call_ended(turn, id, ok, texts.join("\n").trim_end());
}

/// Shows the current step of the agent's plan.
fn plan(entries: &Value, turn: &Turn<'_>) {
    let entries = entries.as_array().map_or(&[][..], Vec::as_slice);
    let is = |entry: &Value, status: &str| entry["status"] == status;
    let done = entries
        .iter()
        .filter(|entry| is(entry, "completed"))
        .count();
    let current = entries.iter().find(|entry| is(entry, "in_progress"));
    let Some(current) = current.and_then(|entry| entry["content"].as_str()) else {
        return;
    };
    let of = entries.len();
    turn.emit(AgentEvent::Notice {
        line: format!("plan: {done} of {of} done, now: {current}"),
    });
}

/// Returns the usage of a prompt, if the agent reports it.
pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let count = |field: &str| usage[field].as_u64().unwrap_or(0);
    usage.is_object().then(|| Usage {
        input_tokens: count("inputTokens"),
        output_tokens: count("outputTokens"),
        cache_read_input_tokens: count("cachedReadTokens"),
        cache_creation_input_tokens: count("cachedWriteTokens"),
    })
}

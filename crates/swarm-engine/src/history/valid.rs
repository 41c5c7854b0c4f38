//! From what was said to what the Messages API accepts.

use swarm_model::{ContentBlock, Message, Role};

/// The result of a call whose own result was lost.
pub(crate) const INTERRUPTED: &str = "The call was interrupted before its result was recorded. It may have run: look at its effects before you repeat it.";

/// Stands in front of a result whose call is lost.
const ORPHAN: &str = "[Result of an earlier tool call that is no longer part of this conversation]";

/// Stands where the beginning of a conversation is lost.
const LOST_BEGINNING: &str = "[The beginning of this conversation is lost]";

/// A result that says why a call failed.
pub(crate) fn error_result(id: &str, why: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: why.to_owned(),
        is_error: true,
    }
}

/// Ids of the calls at the end that have no result, in their order.
pub(super) fn unanswered(said: &[Message]) -> Vec<String> {
    let (calls, after) = match said {
        [.., calls] if calls.role == Role::Assistant => (calls, &[][..]),
        [.., calls, after] => (calls, &after.content[..]),
        _ => return Vec::new(),
    };
    let mut results: Vec<&str> = after.iter().filter_map(result_id).collect();
    call_ids(&calls.content)
        .filter(|id| match results.iter().position(|known| known == id) {
            Some(at) => {
                results.remove(at);
                false
            }
            None => true,
        })
        .map(str::to_owned)
        .collect()
}

/// The whole conversation in valid form.
pub(super) fn messages(said: &[Message]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(said.len() + 1);
    let mut calls: Vec<String> = Vec::new();
    let mut last_role = None;
    for message in said {
        let content = match message.role {
            Role::User => results_first(&std::mem::take(&mut calls), visible(&message.content)),
            Role::Assistant => spoken(&message.content),
        };
        // Two user messages that were kept apart stay apart; those between which nothing is left do not.
        let apart = message.role == Role::User && last_role == Some(Role::User);
        last_role = Some(message.role);
        if message.role == Role::Assistant {
            calls.extend(call_ids(&content).map(str::to_owned));
        }
        push(&mut out, message.role, content, apart);
    }
    if !calls.is_empty() {
        push(
            &mut out,
            Role::User,
            results_first(&calls, Vec::new()),
            false,
        );
    }
    if out
        .first()
        .is_some_and(|first| first.role == Role::Assistant)
    {
        out.insert(0, Message::user_text(LOST_BEGINNING));
    }
    out
}

fn push(out: &mut Vec<Message>, role: Role, content: Vec<ContentBlock>, apart: bool) {
    match out.last_mut() {
        _ if content.is_empty() => {}
        Some(last) if last.role == role && !apart => last.content.extend(content),
        _ => out.push(Message { role, content }),
    }
}

/// Without text blocks that are empty, which the server refuses.
fn visible(content: &[ContentBlock]) -> Vec<ContentBlock> {
    let blank = |block: &ContentBlock| matches!(block, ContentBlock::Text { text } if text.trim().is_empty());
    content
        .iter()
        .filter(|block| !blank(block))
        .cloned()
        .collect()
}

/// What the model said, without thinking that led to nothing: an answer cut off while thinking cannot be replayed.
fn spoken(content: &[ContentBlock]) -> Vec<ContentBlock> {
    let mut content = visible(content);
    let thinking = |block: &ContentBlock| {
        matches!(
            block,
            ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. }
        )
    };
    while content.last().is_some_and(thinking) {
        content.pop();
    }
    content
}

/// A user message behind the calls `calls`: one result for each, in their order, then everything else.
fn results_first(calls: &[String], content: Vec<ContentBlock>) -> Vec<ContentBlock> {
    let (mut results, mut rest) = (Vec::new(), Vec::new());
    for block in content {
        if result_id(&block).is_some() {
            results.push(block);
        } else {
            rest.push(block);
        }
    }
    let mut out: Vec<ContentBlock> = calls
        .iter()
        .map(|call| {
            match results
                .iter()
                .position(|block| result_id(block) == Some(call))
            {
                Some(at) => results.remove(at),
                None => error_result(call, INTERRUPTED),
            }
        })
        .collect();
    out.extend(results.into_iter().filter_map(orphan));
    out.extend(rest);
    out
}

/// A result without its call, as text.
fn orphan(block: ContentBlock) -> Option<ContentBlock> {
    match block {
        ContentBlock::ToolResult { content, .. } => {
            Some(ContentBlock::text(format!("{ORPHAN}\n{content}")))
        }
        _ => None,
    }
}

fn call_ids(content: &[ContentBlock]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|block| match block {
        ContentBlock::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

/// The call that a block is the result of. A result with more than text in it is a block of another kind here.
fn result_id(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        ContentBlock::Other(value) if value["type"] == "tool_result" => {
            value["tool_use_id"].as_str()
        }
        _ => None,
    }
}

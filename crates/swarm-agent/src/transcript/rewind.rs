//! The prompts before which a conversation can continue, and what a rewind cannot undo.

use std::collections::HashMap;
use std::path::Path;

use swarm_model::ContentBlock;
use swarm_os::{OsError, read_optional};
use swarm_protocol::{OpenedEnvelope, PERSON_SENDER, SubAgentId, ToolKind, word_list};
use swarm_tools::builtin;

use super::assemble::{Assembler, RecordedEntry};
use super::entry::Entry;
use super::line;
use super::replay::{call_line, has, typed_text};
use crate::history::CALL_NOT_RUN;

/// Tools outside the built-in ones whose effects a rewind does not undo. Those of MCP servers are
/// added.
const LASTING: [&str; 10] = word_list(
    "Agent Task SendMessage TeamCreate TeamDelete TaskCreate TaskUpdate TaskStop EnterWorktree
    ExitWorktree",
);

/// A prompt before which the conversation can continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindPoint {
    /// Id of its line in the transcript.
    pub line: String,
    /// The prompt.
    pub prompt: String,
    /// Number of calls since then that a rewind does not undo.
    pub effects: usize,
    /// Position of its line in the transcript, in bytes.
    pub position: u64,
}

/// The prompts of a conversation and the effects of its calls.
#[derive(Debug)]
pub struct RewindPoints {
    points: Vec<RewindPoint>,
    /// The calls with effects that a rewind does not undo, one line each, oldest first. Changes by
    /// file tools are not among them.
    effects: Vec<String>,
}

impl RewindPoints {
    /// Reads a member's transcript; a missing file has no prompts.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn open(path: &Path) -> Result<Self, OsError> {
        let bytes = read_optional(path)?.unwrap_or_default();
        let (mut points, mut effects) = (Vec::new(), Vec::new());
        // The calls without a result, and the effect of each.
        let mut unanswered: HashMap<String, Option<String>> = HashMap::new();
        let tools = builtin();
        for one in recorded(&bytes, None) {
            match (one.entry, one.line) {
                (Entry::User { content, .. }, line) => {
                    // Between the results of two calls, the conversation cannot end.
                    if let (Some(line), Some(prompt), true) =
                        (line, typed_text(&content), unanswered.is_empty())
                    {
                        let effects = effects.len();
                        points.push(RewindPoint {
                            position: position(&bytes, &line),
                            line,
                            prompt,
                            effects,
                        });
                    }
                    for block in &content {
                        let effect = result_id(block).and_then(|id| unanswered.remove(id));
                        effects.extend(effect.flatten().filter(|_| !is_refused(block)));
                    }
                }
                (Entry::Assistant { content, .. }, _) => {
                    for block in content {
                        let ContentBlock::ToolUse { id, name, input } = block else {
                            continue;
                        };
                        let known = tools.iter().find(|tool| tool.name() == name);
                        let effect = has_effect(&name, known.map(|tool| tool.kind()))
                            .then(|| call_line(&tools, &name, &input).trim_end().to_owned());
                        unanswered.insert(id, effect);
                    }
                }
                _ => {}
            }
        }
        for point in &mut points {
            point.effects = effects.len() - point.effects;
        }
        Ok(Self { points, effects })
    }

    /// Returns the prompts, oldest first.
    pub fn points(&self) -> &[RewindPoint] {
        &self.points
    }

    /// Returns the calls since a prompt whose effects a rewind does not undo, one line each.
    pub fn effects(&self, point: &RewindPoint) -> &[String] {
        &self.effects[self.effects.len() - point.effects..]
    }
}

fn has_effect(tool: &str, kind: Option<ToolKind>) -> bool {
    match kind {
        Some(kind) => matches!(kind, ToolKind::Execute | ToolKind::Other),
        None => tool.starts_with("mcp__") || LASTING.contains(&tool),
    }
}

/// Returns whether a block is the result of a call that was not run.
fn is_refused(result: &ContentBlock) -> bool {
    matches!(result, ContentBlock::ToolResult { content, is_error: true, .. } if content.starts_with(CALL_NOT_RUN))
}

fn position(transcript: &[u8], line: &str) -> u64 {
    let mark = format!("\"uuid\":\"{line}\"");
    let mut start = 0;
    for text in transcript.split_inclusive(|byte| *byte == b'\n') {
        if has(text, mark.as_bytes()) {
            break;
        }
        start += text.len() as u64;
    }
    start
}

fn result_id(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        ContentBlock::Other(value) => value["tool_use_id"].as_str(),
        _ => None,
    }
}

/// Returns the entries of a transcript and their lines. Lines that cannot be parsed are skipped.
pub(super) fn recorded(bytes: &[u8], sub_agent: Option<&SubAgentId>) -> Vec<RecordedEntry> {
    let mut assembler = Assembler::default();
    for text in bytes.split(|byte| *byte == b'\n') {
        if let Ok(parsed) = line::parse(text, sub_agent)
            && let Some(part) = parsed.part
        {
            assembler.take(part, parsed.uuid, parsed.parent);
        }
    }
    assembler.recorded()
}

/// Returns the messages from other agents in entries: they were acknowledged and will not be sent
/// again.
pub(super) fn kept_mail(dropped: &[Entry]) -> Vec<ContentBlock> {
    let blocks = dropped.iter().flat_map(|entry| match entry {
        Entry::User {
            content,
            message_ids,
            ..
        } if !message_ids.is_empty() => content.as_slice(),
        Entry::Rewound(rewind) => rewind.mail.as_slice(),
        _ => &[],
    });
    let is_mail = |block: &&ContentBlock| {
        let opened = block.as_text().and_then(OpenedEnvelope::open);
        opened.is_some_and(|(envelope, _)| envelope.from != PERSON_SENDER)
    };
    blocks.filter(is_mail).cloned().collect()
}

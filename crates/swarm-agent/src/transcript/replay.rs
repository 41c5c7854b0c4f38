//! A transcript as events, for a person who reads it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_model::{ContentBlock, Role};
use swarm_os::{OsError, read_optional_from};
use swarm_protocol::{
    AgentEvent, DetailLine, MailText, OpenedEnvelope, PERSON_SENDER, marked_images, partial_debug,
};
use swarm_tools::{Tool, builtin, one_line, whole_call};

use super::assemble::Part;
use super::entry::{Entry, Rewind};
use super::line;

/// Most lines after a call that are searched for its result.
const RESULT_LINES: usize = 64;

/// Sender of a prompt that a person typed.
const TYPED: &str = "you";

/// A mark of the line with the summary of a compaction.
const SUMMARY_MARK: &[u8] = b"\"isCompactSummary\":true";

/// The lines of a transcript, parsed when they are needed. It never changes the file.
pub struct TranscriptReplay {
    path: PathBuf,
    bytes: Vec<u8>,
    /// The complete lines.
    lines: Vec<Range<usize>>,
    tools: Vec<Arc<dyn Tool>>,
}

partial_debug!(TranscriptReplay: path);

impl TranscriptReplay {
    /// Reads a transcript; a missing file is empty.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn open(path: &Path) -> Result<Self, OsError> {
        let mut replay = Self {
            path: path.to_owned(),
            bytes: Vec::new(),
            lines: Vec::new(),
            tools: builtin(),
        };
        replay.read_more()?;
        Ok(replay)
    }

    /// Reads lines that were appended. Returns whether there are more.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn read_more(&mut self) -> Result<bool, OsError> {
        let known = self.bytes.len();
        if let Some(more) = read_optional_from(&self.path, known as u64)? {
            self.bytes.extend_from_slice(&more);
        }
        let before = self.lines.len();
        let mut start = self.lines.last().map_or(0, |last| last.end + 1);
        let ends = self.bytes[start..].iter().enumerate();
        let ends = ends.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        let begin = start;
        for end in ends {
            self.lines.push(start..begin + end);
            start = begin + end + 1;
        }
        Ok(self.lines.len() > before)
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Returns what a line adds to the conversation. The results of calls are returned with the
    /// line of the call. Lines that cannot be parsed are reported in a notice.
    pub fn events(&self, number: usize) -> Vec<AgentEvent> {
        let Some(text) = self.line(number) else {
            return Vec::new();
        };
        match line::parse(text, None) {
            Ok(parsed) => parsed
                .part
                .map_or_else(Vec::new, |part| self.of_part(number, part)),
            Err(_) if text.trim_ascii().is_empty() => Vec::new(),
            Err(error) => vec![notice(format!("line {} is not valid: {error}", number + 1))],
        }
    }

    fn line(&self, number: usize) -> Option<&[u8]> {
        self.lines.get(number).map(|line| &self.bytes[line.clone()])
    }

    fn of_part(&self, number: usize, part: Part) -> Vec<AgentEvent> {
        let line = match part {
            Part::Boundary(compaction, _) => {
                let tokens = compaction.pre_tokens;
                format!("the conversation was compacted at {tokens} tokens")
            }
            Part::Rewound(rewind) => self.of_rewind(&rewind),
            Part::Whole(Entry::Cleared(clearing)) => {
                let calls = clearing.calls.len();
                format!("the results of {calls} earlier calls were cleared for the model")
            }
            Part::Whole(Entry::TurnEnd { text, .. }) => text,
            // The lines are not assembled here.
            Part::Whole(Entry::Compacted(_) | Entry::Rewound(_)) => return Vec::new(),
            // The messages that a compaction keeps are shown where they were written.
            Part::Kept(_)
                if !self
                    .line(number)
                    .is_some_and(|line| has(line, SUMMARY_MARK)) =>
            {
                return Vec::new();
            }
            Part::Whole(Entry::Inherited(message)) | Part::Kept(message) => {
                let message = message.message();
                return self.of_blocks(number, message.role, &message.content);
            }
            Part::Summary(message) => {
                return self.of_blocks(number, message.role, &message.content);
            }
            Part::Whole(Entry::User { content, .. }) => {
                return self.of_blocks(number, Role::User, &content);
            }
            Part::Whole(Entry::Assistant { content, .. }) => {
                return self.of_blocks(number, Role::Assistant, &content);
            }
        };
        vec![notice(line)]
    }

    fn of_rewind(&self, rewind: &Rewind) -> String {
        let mark = format!("\"uuid\":\"{}\"", rewind.to);
        let mut lines = self
            .lines
            .iter()
            .rev()
            .map(|line| &self.bytes[line.clone()]);
        let line = lines.find(|line| has(line, mark.as_bytes()));
        let part = line.and_then(|line| line::parse(line, None).ok()?.part);
        let prompt = match part {
            Some(Part::Whole(Entry::User { content, .. })) => typed_text(&content),
            _ => None,
        };
        let prompt = one_line(&prompt.unwrap_or_default());
        format!("rewound to before the prompt: {prompt}")
    }

    fn of_blocks(&self, number: usize, role: Role, blocks: &[ContentBlock]) -> Vec<AgentEvent> {
        let events = blocks.iter().map(|block| match (role, block) {
            (Role::Assistant, ContentBlock::Text { text }) => {
                vec![AgentEvent::MessageDone { text: text.clone() }]
            }
            (Role::Assistant, ContentBlock::Thinking { thinking, .. }) => {
                let text = thinking.clone();
                vec![AgentEvent::ThinkingDelta { text }]
            }
            (Role::Assistant, ContentBlock::ToolUse { id, name, input }) => {
                self.call(number, id, name, input)
            }
            (Role::User, ContentBlock::Text { text }) => of_input(text),
            (Role::User, ContentBlock::Other(value)) if value["type"] == "image" => {
                vec![notice("an image".to_owned())]
            }
            _ => Vec::new(),
        });
        events.flatten().collect()
    }

    /// Returns a call and its result.
    fn call(
        &self,
        number: usize,
        id: &str,
        tool: &str,
        input: &serde_json::Value,
    ) -> Vec<AgentEvent> {
        let line = call_line(&self.tools, tool, input);
        let started = AgentEvent::ToolStarted {
            id: id.to_owned(),
            tool: tool.to_owned(),
            line: line.trim_end().to_owned(),
        };
        let mut detail = whole_call(tool, input, &line);
        let (ok, words) = match self.result(number, id) {
            Some((text, ok)) => {
                let lines = text.lines().count();
                detail.extend(text.lines().map(DetailLine::output));
                let words = if ok { "ok" } else { "failed" };
                let lines = match lines {
                    1 => "1 line".to_owned(),
                    lines => format!("{lines} lines"),
                };
                (ok, format!("{words}, {lines}"))
            }
            None => (true, "no result yet".to_owned()),
        };
        let finished = AgentEvent::ToolFinished {
            id: id.to_owned(),
            tool: tool.to_owned(),
            ok,
            line: words,
            detail,
        };
        vec![started, finished]
    }

    /// Returns the result of a call, and whether the call succeeded.
    fn result(&self, number: usize, id: &str) -> Option<(String, bool)> {
        let lines = self.lines.iter().skip(number + 1).take(RESULT_LINES);
        let lines = lines.map(|line| &self.bytes[line.clone()]);
        lines
            .filter(|line| has(line, id.as_bytes()))
            .find_map(|line| {
                let Ok(parsed) = line::parse(line, None) else {
                    return None;
                };
                let content = match parsed.part? {
                    Part::Whole(Entry::User { content, .. }) => content,
                    Part::Whole(Entry::Inherited(message)) => message.message().content,
                    _ => return None,
                };
                content.iter().find_map(|block| result_in(block, id))
            })
    }
}

/// Returns the text of a block if it is the result of this call, and whether the call succeeded.
fn result_in(block: &ContentBlock, id: &str) -> Option<(String, bool)> {
    match block {
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
        } if tool_use_id == id => Some((content.clone(), !is_error)),
        // A result with images.
        ContentBlock::Other(value) if value["tool_use_id"] == id => {
            let parts = value["content"].as_array().into_iter().flatten();
            let parts = parts.map(|part| part["text"].as_str().unwrap_or("[image]"));
            let is_error = value["is_error"].as_bool().unwrap_or_default();
            Some((parts.collect::<Vec<_>>().join("\n"), !is_error))
        }
        _ => None,
    }
}

/// Returns the events for an input of the model: messages, reminders of the program, output of the
/// person's shell, or a prompt.
fn of_input(text: &str) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    let mut rest = text.trim();
    while let Some((envelope, after)) = OpenedEnvelope::open(rest) {
        events.push(mail(
            envelope.from,
            envelope.color,
            envelope.summary.as_deref(),
            envelope.text,
        ));
        rest = after.trim();
    }
    if let Some(reminder) = tagged(rest, "system-reminder") {
        events.push(notice(format!("for the model: {}", one_line(reminder))));
    } else if let Some(command) = tagged(rest, "bash-input") {
        events.push(mail(TYPED.to_owned(), None, None, &format!("!{command}")));
        if let Some((_, output)) = rest.split_once("</bash-input>") {
            let output = tagged(output, "bash-stdout").unwrap_or(output);
            events.push(AgentEvent::CommandOutput {
                text: output.trim().to_owned(),
            });
        }
    } else if !rest.is_empty() {
        events.push(mail(TYPED.to_owned(), None, None, rest));
    }
    events
}

/// Returns the content of a tag at the start of a text.
fn tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let inside = text
        .trim_start()
        .strip_prefix('<')?
        .strip_prefix(tag)?
        .strip_prefix('>')?;
    let end = inside.find(&format!("</{tag}>")).unwrap_or(inside.len());
    Some(inside[..end].trim())
}

fn mail(from: String, color: Option<String>, summary: Option<&str>, text: &str) -> AgentEvent {
    let line = summary.unwrap_or_else(|| text.lines().next().unwrap_or_default());
    AgentEvent::MailIn {
        from,
        color,
        line: line.to_owned(),
        more: Some(MailText {
            text: text.to_owned(),
            command: String::new(),
        }),
    }
}

fn notice(line: String) -> AgentEvent {
    AgentEvent::Notice { line }
}

/// Returns the prompt in the content of a user line, if a person typed one. With a team it is a
/// message of the person. Other text in a tag or in brackets was written by the program.
pub(super) fn typed_text(content: &[ContentBlock]) -> Option<String> {
    let texts = content.iter().filter_map(ContentBlock::as_text);
    let typed = texts.map(|text| match OpenedEnvelope::open(text) {
        Some((envelope, _)) if envelope.from == PERSON_SENDER => envelope.text.trim(),
        _ => text.trim(),
    });
    let is_typed = |text: &&str| {
        let is_note = text.starts_with('[') && text.ends_with(']');
        let has_image = !marked_images(text).is_empty();
        !text.is_empty() && !text.starts_with('<') && (!is_note || has_image)
    };
    let typed: Vec<&str> = typed.filter(is_typed).collect();
    (!typed.is_empty()).then(|| typed.join("\n"))
}

pub(super) fn call_line(tools: &[Arc<dyn Tool>], tool: &str, input: &serde_json::Value) -> String {
    match tools.iter().find(|known| known.name() == tool) {
        Some(known) => known.one_line(input),
        None => one_line(&format!("{tool} {}", first_text(input))),
    }
}

/// Returns the first text of a call's input, which usually says what it is about.
fn first_text(input: &serde_json::Value) -> &str {
    let fields = input.as_object().into_iter().flatten();
    let mut texts = fields.filter_map(|(_, value)| value.as_str());
    texts.next().unwrap_or_default()
}

pub(super) fn has(line: &[u8], wanted: &[u8]) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return true;
    };
    let mut left = line;
    while let Some(at) = left.iter().position(|byte| byte == first) {
        left = &left[at + 1..];
        if left.starts_with(rest) {
            return true;
        }
    }
    false
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;

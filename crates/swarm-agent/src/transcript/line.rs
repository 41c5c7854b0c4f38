//! The JSON of one line.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use swarm_model::{ContentBlock, Message, Role, StopReason, StoredMessage};
use swarm_protocol::{MemberName, MessageId, SessionId, SpawnId, SubAgentId, TeamName, Usage};

use super::assemble::{Part, summary};
use super::entry::{Clearing, CompactTrigger, Compaction, Entry, TurnEnd};

/// `subtype` of the system line that ends a turn without an answer.
const TURN_END: &str = "swarm_turn_end";

/// `subtype` of the system line behind which a conversation goes on from a summary. Claude Code's.
const BOUNDARY: &str = "compact_boundary";

/// `subtype` of the system line from which on results of earlier calls are left out. Claude Code's.
const CLEARED: &str = "microcompact_boundary";

/// What such a line says to people. Claude Code's.
const MICROCOMPACTED: &str = "Context microcompacted";

/// What a boundary line says to people. Claude Code's.
const COMPACTED: &str = "Conversation compacted";

/// Who writes a transcript: the fields that stand on each of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptAuthor {
    /// The conversation.
    pub session: SessionId,
    /// The working directory.
    pub cwd: PathBuf,
    /// Version of the program.
    pub version: String,
    /// The agent's name in its team.
    pub agent: Option<MemberName>,
    /// Its team.
    pub team: Option<TeamName>,
    /// Its spawn.
    pub spawn: Option<SpawnId>,
    /// The sub-agent whose transcript it is; the member's own has none.
    pub sub_agent: Option<SubAgentId>,
}

/// Our own key on a line.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Mark {
    #[serde(skip_serializing_if = "Option::is_none")]
    spawn_id: Option<SpawnId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    message_ids: Vec<MessageId>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repaired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_end: Option<TurnEnd>,
    /// With the end of a turn: what its requests used that got no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    unanswered: Option<Usage>,
    /// The line was said before the fork whose transcript this is began.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inherited: bool,
    /// On a boundary.
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction: Option<CompactionMark>,
    /// The line belongs to the compaction whose boundary stands above it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    compacted: bool,
}

/// What a boundary says of the compaction.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactionMark {
    /// How many lines follow that belong to it. Without all of them it does not count.
    lines: usize,
    /// Whether the last of them waits for an answer.
    open: bool,
    /// What the requests for the summary used.
    usage: Usage,
}

/// Claude Code's own key on a boundary.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactMetadata {
    trigger: CompactTrigger,
    #[serde(default)]
    pre_tokens: u64,
}

/// Claude Code's own key on a line that clears results.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MicrocompactMetadata {
    trigger: String,
    pre_tokens: u64,
    tokens_saved: u64,
    compacted_tool_ids: Vec<String>,
    #[serde(rename = "clearedAttachmentUUIDs")]
    cleared_attachments: Vec<String>,
}

/// What one line is written for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'a> {
    /// An entry of one line.
    Whole(&'a Entry),
    /// The first line of a compaction.
    Boundary(&'a Compaction),
    /// One of its messages; the first one has the summary.
    Kept(&'a StoredMessage, bool),
}

/// The lines of an entry.
pub(super) fn pieces(entry: &Entry) -> Vec<Piece<'_>> {
    let Entry::Compacted(compaction) = entry else {
        return vec![Piece::Whole(entry)];
    };
    let messages = compaction.messages.iter().enumerate();
    let kept = messages.map(|(index, message)| Piece::Kept(message, index == 0));
    std::iter::once(Piece::Boundary(compaction))
        .chain(kept)
        .collect()
}

/// A line as it is written: the fields of Claude Code's lines in their order, then ours.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    parent_uuid: Option<&'a str>,
    is_sidechain: bool,
    user_type: &'static str,
    cwd: String,
    session_id: SessionId,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a SubAgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    team_name: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subtype: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_parent_uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compact_metadata: Option<CompactMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    microcompact_metadata: Option<MicrocompactMetadata>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_compact_summary: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_visible_in_transcript_only: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<WrittenMessage<'a>>,
    uuid: &'a str,
    timestamp: String,
    swarm: Mark,
}

/// The message inside a written line.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum WrittenMessage<'a> {
    Said {
        role: Role,
        content: &'a [ContentBlock],
    },
    Answer {
        #[serde(rename = "type")]
        kind: &'static str,
        role: Role,
        model: &'a str,
        content: &'a [ContentBlock],
        stop_reason: Option<&'a StopReason>,
        usage: &'a Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
    },
    Repeated(&'a StoredMessage),
}

/// The parts of a line that are read. Everything else on it belongs to others.
#[derive(Debug, Deserialize)]
struct Read {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    uuid: Option<String>,
    #[serde(default, rename = "isSidechain")]
    is_sidechain: bool,
    #[serde(default, rename = "agentId")]
    agent_id: Option<String>,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default, rename = "compactMetadata")]
    compact_metadata: Option<Value>,
    #[serde(default, rename = "microcompactMetadata")]
    microcompact_metadata: Option<MicrocompactMetadata>,
    #[serde(default, rename = "isCompactSummary")]
    is_compact_summary: bool,
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    message: Option<Said>,
    #[serde(default)]
    swarm: Option<Mark>,
}

/// The message inside a line.
#[derive(Debug, Deserialize)]
struct Said {
    content: Content,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stop_reason: Option<StopReason>,
    #[serde(default)]
    usage: Option<Usage>,
}

/// Claude Code writes a prompt as a plain string.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

/// A line that was understood.
#[derive(Debug)]
pub(super) struct ParsedLine {
    /// The line's own id.
    pub(super) uuid: Option<String>,
    /// What it means; `None` for lines that are no part of the conversation.
    pub(super) part: Option<Part>,
    /// Whether it says that the conversation is a coordinator's.
    pub(super) coordinator: bool,
}

/// The line that says that a conversation is a coordinator's: Claude Code's, with the agent's name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModeLine<'a> {
    r#type: &'static str,
    mode: &'static str,
    session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
}

/// `type` of that line.
pub(super) const MODE: &str = "mode";

/// `mode` of that line.
pub(super) const COORDINATOR: &str = "coordinator";

/// Writes that line, without the newline.
pub(super) fn coordinator(author: &TranscriptAuthor) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&ModeLine {
        r#type: MODE,
        mode: COORDINATOR,
        session_id: author.session,
        agent_name: author.agent.as_ref().map(MemberName::as_str),
    })
}

/// Reads one line of the transcript of `sub_agent`, or of a member. An error says why it cannot be read.
pub(super) fn parse(
    line: &[u8],
    sub_agent: Option<&SubAgentId>,
) -> Result<ParsedLine, serde_json::Error> {
    let read: Read = serde_json::from_slice(line)?;
    let uuid = read.uuid.clone();
    let is_own = match sub_agent {
        None => !read.is_sidechain,
        Some(id) => read.agent_id.as_deref() == Some(id.as_str()),
    };
    let coordinator = read.kind == MODE && read.mode.as_deref() == Some(COORDINATOR);
    let part = if is_own { read.part() } else { None };
    Ok(ParsedLine {
        uuid,
        part,
        coordinator,
    })
}

impl Read {
    fn part(self) -> Option<Part> {
        let mark = self.swarm.unwrap_or_default();
        if self.subtype.as_deref() == Some(BOUNDARY) {
            return Some(boundary(self.compact_metadata, mark.compaction));
        }
        if self.subtype.as_deref() == Some(CLEARED) {
            let cleared = self.microcompact_metadata?;
            return Some(Part::Whole(Entry::Cleared(Clearing {
                calls: cleared.compacted_tool_ids,
                pre_tokens: cleared.pre_tokens,
                saved: cleared.tokens_saved,
            })));
        }
        if let Some(how) = mark.turn_end {
            let text = self.content.as_ref().and_then(Value::as_str);
            return Some(Part::Whole(Entry::TurnEnd {
                how,
                text: text.unwrap_or_default().to_owned(),
                usage: mark.unanswered.unwrap_or_default(),
            }));
        }
        let said = self.message?;
        let content = match said.content {
            Content::Text(text) => vec![ContentBlock::text(text)],
            Content::Blocks(blocks) => blocks,
        };
        let role = match self.kind.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return None,
        };
        if mark.inherited || mark.compacted {
            let message = Arc::new(Message { role, content }.into());
            return Some(if mark.compacted {
                Part::Kept(message)
            } else {
                Part::Whole(Entry::Inherited(message))
            });
        }
        if self.is_compact_summary {
            return Some(summary(content));
        }
        Some(Part::Whole(match role {
            Role::User => Entry::User {
                content,
                message_ids: mark.message_ids,
                repaired: mark.repaired,
            },
            Role::Assistant => Entry::Assistant {
                content,
                model: said.model.unwrap_or_default(),
                id: said.id,
                stop_reason: said.stop_reason,
                usage: said.usage.unwrap_or_default(),
            },
        }))
    }
}

/// The first line of a compaction, ours or another program's.
fn boundary(metadata: Option<Value>, mark: Option<CompactionMark>) -> Part {
    let metadata = metadata.and_then(|value| serde_json::from_value::<CompactMetadata>(value).ok());
    let compaction = Compaction {
        trigger: metadata.map_or(CompactTrigger::Auto, |metadata| metadata.trigger),
        pre_tokens: metadata.map_or(0, |metadata| metadata.pre_tokens),
        usage: mark.as_ref().map_or_else(Usage::default, |mark| mark.usage),
        open: mark.as_ref().is_some_and(|mark| mark.open),
        messages: Vec::new(),
    };
    Part::Boundary(compaction, mark.map(|mark| mark.lines))
}

/// Writes one line, without the newline. The timestamp is ISO-8601.
pub(super) fn render(
    piece: Piece<'_>,
    author: &TranscriptAuthor,
    uuid: &str,
    parent: Option<&str>,
    timestamp: String,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Written {
        parent_uuid: parent,
        is_sidechain: author.sub_agent.is_some(),
        user_type: "external",
        cwd: author.cwd.to_string_lossy().into_owned(),
        session_id: author.session,
        version: &author.version,
        agent_id: author.sub_agent.as_ref(),
        agent_name: author.agent.as_ref().map(MemberName::as_str),
        team_name: author.team.as_ref().map(TeamName::as_str),
        kind: "system",
        subtype: None,
        logical_parent_uuid: None,
        compact_metadata: None,
        microcompact_metadata: None,
        is_compact_summary: false,
        is_visible_in_transcript_only: false,
        content: None,
        message: None,
        uuid,
        timestamp,
        swarm: Mark {
            spawn_id: author.spawn,
            ..Mark::default()
        },
    };
    match piece {
        Piece::Whole(entry) => line.fill(entry),
        Piece::Boundary(compaction) => line.bound(compaction),
        Piece::Kept(message, is_summary) => {
            line.repeat(message);
            line.swarm.compacted = true;
            line.is_compact_summary = is_summary;
            line.is_visible_in_transcript_only = is_summary;
        }
    }
    serde_json::to_vec(&line)
}

impl<'a> Written<'a> {
    fn fill(&mut self, entry: &'a Entry) {
        match entry {
            Entry::User {
                content,
                message_ids,
                repaired,
            } => {
                self.kind = "user";
                let role = Role::User;
                self.message = Some(WrittenMessage::Said { role, content });
                self.swarm.message_ids.clone_from(message_ids);
                self.swarm.repaired = *repaired;
            }
            Entry::Assistant {
                content,
                model,
                id,
                stop_reason,
                usage,
            } => {
                self.kind = "assistant";
                self.message = Some(WrittenMessage::Answer {
                    kind: "message",
                    role: Role::Assistant,
                    model,
                    content,
                    stop_reason: stop_reason.as_ref(),
                    usage,
                    id: id.as_deref(),
                });
            }
            Entry::Inherited(message) => {
                self.repeat(message);
                self.swarm.inherited = true;
            }
            Entry::Cleared(cleared) => {
                self.subtype = Some(CLEARED);
                self.content = Some(MICROCOMPACTED);
                self.microcompact_metadata = Some(MicrocompactMetadata {
                    trigger: CompactTrigger::Auto.word().to_owned(),
                    pre_tokens: cleared.pre_tokens,
                    tokens_saved: cleared.saved,
                    compacted_tool_ids: cleared.calls.clone(),
                    cleared_attachments: Vec::new(),
                });
            }
            // It is written in pieces.
            Entry::Compacted(_) => {}
            Entry::TurnEnd { how, text, usage } => {
                self.subtype = Some(TURN_END);
                self.content = Some(text);
                self.swarm.turn_end = Some(*how);
                self.swarm.unanswered = (*usage != Usage::default()).then_some(*usage);
            }
        }
    }

    /// A message that was said before, as it was sent.
    fn repeat(&mut self, message: &'a StoredMessage) {
        self.kind = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        self.message = Some(WrittenMessage::Repeated(message));
    }

    /// The chain of lines begins anew here, so that readers who follow it stop at the summary.
    fn bound(&mut self, compaction: &Compaction) {
        self.logical_parent_uuid = self.parent_uuid.take();
        self.subtype = Some(BOUNDARY);
        self.content = Some(COMPACTED);
        self.compact_metadata = Some(CompactMetadata {
            trigger: compaction.trigger,
            pre_tokens: compaction.pre_tokens,
        });
        self.swarm.compaction = Some(CompactionMark {
            lines: compaction.messages.len(),
            open: compaction.open,
            usage: compaction.usage,
        });
    }
}

//! The JSON format of a line.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use swarm_model::{ContentBlock, Message, Role, StopReason, StoredMessage};
use swarm_protocol::{MemberName, MessageId, SessionId, SpawnId, SubAgentId, TeamName, Usage};

use super::assemble::{Part, summary};
use super::entry::{Clearing, CompactTrigger, Compaction, Entry, Rewind, TurnEnd};

/// `subtype` of the system line that ends a turn without a response.
const TURN_END: &str = "swarm_turn_end";

/// `subtype` of the system line before the summary of a compaction. From Claude Code.
const BOUNDARY: &str = "compact_boundary";

/// `subtype` of the system line that clears the results of earlier calls. From Claude Code.
const CLEARED: &str = "microcompact_boundary";

/// `subtype` of the system line of a rewind that keeps no messages.
const REWOUND: &str = "swarm_rewind";

/// Text of that line for people.
const REWOUND_TEXT: &str = "Conversation rewound";

/// Text of the line that clears results, for people. From Claude Code.
const MICROCOMPACTED: &str = "Context microcompacted";

/// Text of a boundary line for people. From Claude Code.
const COMPACTED: &str = "Conversation compacted";

/// The author of a transcript: the fields on each of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptAuthor {
    /// Id of the conversation.
    pub session: SessionId,
    /// Working directory of the agent.
    pub cwd: PathBuf,
    /// Version of the program.
    pub version: String,
    /// Name of the agent in its team.
    pub agent: Option<MemberName>,
    /// Team of the agent.
    pub team: Option<TeamName>,
    /// Spawn id of the process.
    pub spawn: Option<SpawnId>,
    /// Sub-agent whose transcript it is; `None` for a member's.
    pub sub_agent: Option<SubAgentId>,
}

/// The key `swarm` of a line.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SwarmFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    spawn_id: Option<SpawnId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    message_ids: Vec<MessageId>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repaired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_end: Option<TurnEnd>,
    /// At the end of a turn: usage of its requests without a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    unanswered: Option<Usage>,
    /// The line was inherited from the parent of this fork.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inherited: bool,
    /// Set on a boundary line.
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction: Option<CompactionMark>,
    /// The line belongs to the compaction whose boundary precedes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    compacted: bool,
    /// The conversation returns to the state before this line.
    #[serde(skip_serializing_if = "Option::is_none")]
    rewound_to: Option<String>,
}

/// The compaction fields of a boundary line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactionMark {
    /// Number of lines that follow. The compaction counts only if all are present.
    lines: usize,
    /// Whether the last message has no response yet.
    open: bool,
    /// Usage of the requests for the summary.
    usage: Usage,
}

/// Claude Code's metadata of a boundary line.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactMetadata {
    trigger: CompactTrigger,
    #[serde(default)]
    pre_tokens: u64,
}

/// Claude Code's metadata of a line that clears results.
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

/// The content of a line to write.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'a> {
    /// A complete entry.
    Whole(&'a Entry),
    /// The first line of a compaction.
    Boundary(&'a Compaction),
    /// A message of a compaction; the flag marks the first one, which contains the summary.
    Kept(&'a StoredMessage, bool),
}

/// Returns the lines of an entry.
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

/// A line to write: the fields of Claude Code's lines in their order, then swarm's.
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
    swarm: SwarmFields,
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

/// The fields of a line that are read. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct Read {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    uuid: Option<String>,
    #[serde(default, rename = "parentUuid")]
    parent_uuid: Option<String>,
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
    swarm: Option<SwarmFields>,
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

/// The content of a message; Claude Code writes a prompt as a plain string.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<ContentBlock>),
}

impl Content {
    fn blocks(self) -> Vec<ContentBlock> {
        match self {
            Self::Text(text) => vec![ContentBlock::text(text)],
            Self::Blocks(blocks) => blocks,
        }
    }
}

/// A parsed line.
#[derive(Debug)]
pub(super) struct ParsedLine {
    /// Id of the line.
    pub(super) uuid: Option<String>,
    /// Id of the line before.
    pub(super) parent: Option<String>,
    /// Content of the line; `None` for lines that are not part of the conversation.
    pub(super) part: Option<Part>,
    /// Whether it marks the conversation as a coordinator's.
    pub(super) coordinator: bool,
}

/// The line that marks a conversation as a coordinator's: Claude Code's, with the agent's name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModeLine<'a> {
    r#type: &'static str,
    mode: &'static str,
    session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
}

/// `type` of the mode line.
pub(super) const MODE: &str = "mode";

/// `mode` of a coordinator's mode line.
pub(super) const COORDINATOR: &str = "coordinator";

/// Returns the mode line of a coordinator without the newline.
pub(super) fn coordinator(author: &TranscriptAuthor) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&ModeLine {
        r#type: MODE,
        mode: COORDINATOR,
        session_id: author.session,
        agent_name: author.agent.as_ref().map(MemberName::as_str),
    })
}

/// Parses a line of the transcript of `sub_agent`, or of a member.
pub(super) fn parse(
    line: &[u8],
    sub_agent: Option<&SubAgentId>,
) -> Result<ParsedLine, serde_json::Error> {
    let read: Read = serde_json::from_slice(line)?;
    let (uuid, parent) = (read.uuid.clone(), read.parent_uuid.clone());
    let is_own = match sub_agent {
        None => !read.is_sidechain,
        Some(id) => read.agent_id.as_deref() == Some(id.as_str()),
    };
    let coordinator = read.kind == MODE && read.mode.as_deref() == Some(COORDINATOR);
    let part = if is_own { read.part() } else { None };
    Ok(ParsedLine {
        uuid,
        parent,
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
        if let Some(to) = mark.rewound_to {
            return Some(Part::Rewound(Rewind {
                to,
                parent: self.parent_uuid,
                mail: (self.message).map_or_else(Vec::new, |said| said.content.blocks()),
                dropped: Vec::new(),
            }));
        }
        let said = self.message?;
        let content = said.content.blocks();
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

/// Returns the first line of a compaction, written by swarm or another program.
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

/// Returns a line without the newline. The timestamp is ISO 8601.
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
        swarm: SwarmFields {
            spawn_id: author.spawn,
            ..SwarmFields::default()
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
            Entry::Rewound(rewind) => {
                self.swarm.rewound_to = Some(rewind.to.clone());
                if rewind.mail.is_empty() {
                    self.subtype = Some(REWOUND);
                    self.content = Some(REWOUND_TEXT);
                } else {
                    self.kind = "user";
                    let (role, content) = (Role::User, &rewind.mail[..]);
                    self.message = Some(WrittenMessage::Said { role, content });
                }
            }
            // Written as several lines.
            Entry::Compacted(_) => {}
            Entry::TurnEnd { how, text, usage } => {
                self.subtype = Some(TURN_END);
                self.content = Some(text);
                self.swarm.turn_end = Some(*how);
                self.swarm.unanswered = (*usage != Usage::default()).then_some(*usage);
            }
        }
    }

    /// Writes an earlier message unchanged.
    fn repeat(&mut self, message: &'a StoredMessage) {
        self.kind = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        self.message = Some(WrittenMessage::Repeated(message));
    }

    /// Restarts the chain of lines, so that readers that follow it stop at the summary.
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

//! The JSON format of a line, and how it is read; see [`super::written`] for how it is written.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use swarm_model::{ContentBlock, Message, Role, StopReason};
use swarm_protocol::{MemberName, MessageId, SessionId, SpawnId, SubAgentId, TeamName, Usage};

use super::assemble::{Part, summary};
use super::entry::{Clearing, CompactTrigger, Compaction, Entry, Rewind, TurnEnd};

/// `subtype` of the system line before the summary of a compaction. From Claude Code.
pub(super) const BOUNDARY: &str = "compact_boundary";

/// `subtype` of the system line that clears the results of earlier calls. From Claude Code.
pub(super) const CLEARED: &str = "microcompact_boundary";

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
pub(super) struct SwarmFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spawn_id: Option<SpawnId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) message_ids: Vec<MessageId>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) repaired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn_end: Option<TurnEnd>,
    /// At the end of a turn: usage of its requests without a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unanswered: Option<Usage>,
    /// The line was inherited from the parent of this fork.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) inherited: bool,
    /// Set on a boundary line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compaction: Option<CompactionMark>,
    /// The line belongs to the compaction whose boundary precedes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) compacted: bool,
    /// The conversation returns to the state before this line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rewound_to: Option<String>,
}

/// The compaction fields of a boundary line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactionMark {
    /// Number of lines that follow. The compaction counts only if all are present.
    pub(super) lines: usize,
    /// Whether the last message has no response yet.
    pub(super) open: bool,
    /// Usage of the requests for the summary.
    pub(super) usage: Usage,
}

/// Claude Code's metadata of a boundary line.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactMetadata {
    pub(super) trigger: CompactTrigger,
    #[serde(default)]
    pub(super) pre_tokens: u64,
}

/// The fields of a line that are read. Other fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Read {
    #[serde(rename = "type")]
    kind: String,
    mode: Option<String>,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    is_sidechain: bool,
    agent_id: Option<String>,
    subtype: Option<String>,
    compact_metadata: Option<Value>,
    microcompact_metadata: Option<Clearing>,
    is_compact_summary: bool,
    content: Option<Value>,
    message: Option<Said>,
    swarm: Option<SwarmFields>,
}

/// The message inside a line.
#[derive(Debug, Deserialize)]
struct Said {
    content: Content,
    id: Option<String>,
    model: Option<String>,
    stop_reason: Option<StopReason>,
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

#[derive(Debug)]
pub(super) struct ParsedLine {
    pub(super) uuid: Option<String>,
    /// Id of the line before.
    pub(super) parent: Option<String>,
    /// Content of the line; `None` for lines that are not part of the conversation.
    pub(super) part: Option<Part>,
    /// Whether it marks the conversation as a coordinator's.
    pub(super) coordinator: bool,
}

/// `type` of the mode line.
pub(super) const MODE: &str = "mode";

/// `mode` of a coordinator's mode line.
pub(super) const COORDINATOR: &str = "coordinator";

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
            return Some(Part::Whole(Entry::Cleared(self.microcompact_metadata?)));
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

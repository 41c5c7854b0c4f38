//! The lines that are written.

use serde::Serialize;
use swarm_model::{ContentBlock, Role, StopReason, StoredMessage};
use swarm_protocol::{MemberName, SessionId, SubAgentId, TeamName, Usage};

use super::entry::{Clearing, Compaction, Entry};
use super::line::{
    BOUNDARY, CLEARED, COORDINATOR, CompactMetadata, CompactionMark, MODE, SwarmFields,
    TranscriptAuthor,
};

/// `subtype` of the system line that ends a turn without a response.
const TURN_END: &str = "swarm_turn_end";

/// `subtype` of the system line of a rewind that keeps no messages.
const REWOUND: &str = "swarm_rewind";

/// Text of the line of a rewind, for people.
const REWOUND_TEXT: &str = "Conversation rewound";

/// Text of the line that clears results, for people. From Claude Code.
const MICROCOMPACTED: &str = "Context microcompacted";

/// Text of a boundary line for people. From Claude Code.
const COMPACTED: &str = "Conversation compacted";

/// The content of a line to write.
#[derive(Debug, Clone, Copy)]
pub(super) enum Piece<'a> {
    Whole(&'a Entry),
    /// The first line of a compaction.
    Boundary(&'a Compaction),
    /// A message of a compaction; the flag marks the first one, which contains the summary.
    Kept(&'a StoredMessage, bool),
}

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
    microcompact_metadata: Option<&'a Clearing>,
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

/// Returns the mode line of a coordinator without the newline.
pub(super) fn coordinator(author: &TranscriptAuthor) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&ModeLine {
        r#type: MODE,
        mode: COORDINATOR,
        session_id: author.session,
        agent_name: author.agent.as_ref().map(MemberName::as_str),
    })
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
                self.microcompact_metadata = Some(cleared);
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

//! Types on disk and on the wire: names, ids, files, control frames, tasks, events and exit codes.
//!
//! The crate does no I/O and has few dependencies, so that every other crate can use it. Unknown
//! fields in formats that Claude Code also writes are preserved.

mod agent_event;
mod agent_program;
mod budget;
mod claude_session;
mod clock;
mod color;
mod config;
mod digest;
mod enum_names;
mod envelope;
mod error_kind;
mod exchange;
mod folded_path;
mod frame;
mod frontmatter;
mod grant;
mod ids;
mod image_mark;
mod inbox;
mod invalid_text;
mod journal;
mod listed;
mod mode;
mod model_options;
mod money;
mod names;
mod node;
mod outline;
mod partial_debug;
mod peer;
mod peer_frame;
mod public_address;
mod request;
mod rewind_scope;
mod shell_guards;
mod shortened;
mod skill;
mod ssh_destination;
mod state;
mod surrogate;
mod task;
mod text_form;
mod usage;
mod web_answer;
mod word_list;

pub use agent_event::{AgentEvent, DetailLine, LineChange, MailText};
pub use agent_program::AgentProgram;
pub use budget::{
    Budget, BudgetChange, BudgetScope, Budgets, DefaultBudgets, InvalidBudget, RunBudget,
};
pub use claude_session::{
    CLAUDE_PEER_PROTOCOL, ClaudeContent, ClaudeDelivery, ClaudeMessage, ClaudeReceipt,
    ClaudeSession, ClaudeSessionKey,
};
pub use clock::{Clock, IsoTime, SystemClock, UnixMs};
pub use color::Color;
pub use config::{BackendType, LeadProcess, Member, Reservation, SwarmMember, TeamConfig};
pub use digest::{content_digest, input_digest};
pub use envelope::{Envelope, OpenedEnvelope, cross_session_message, defang};
pub use error_kind::{ErrorKind, ExitCode, with_causes};
pub use exchange::{BlobRef, PublishedBranch};
pub use folded_path::folded_path;
pub use frame::{
    ApprovedRequest, CompactRequest, ControlFrame, HostPattern, IdleNotification, IdleReason,
    InterruptRequest, ModeSetRequest, PermissionRequestFrame, PermissionResponse, PermissionResult,
    PlanApprovalRequest, PlanApprovalResponse, SandboxPermissionRequest, SandboxPermissionResponse,
    ShutdownApproved, ShutdownRejected, ShutdownRequest, TaskAssignment, TeamPermissionUpdate,
};
pub use frontmatter::split_frontmatter;
pub use grant::Grant;
pub use ids::{
    MessageId, OrderId, PaneId, RequestId, ReservationId, SessionId, SpawnId, SubAgentId, TaskId,
    task_numbers,
};
pub use image_mark::{image_mark, marked_images};
pub use inbox::{EntryError, InboxEntry, Malformed, MarkKind, ParsedInbox, SwarmMark, parse_inbox};
pub use invalid_text::InvalidText;
pub use journal::{Event, JournalEntry, SpawnTerms};
pub use listed::{with_commas, with_conjunction};
pub use mode::{PermissionMode, ToolKind};
pub use model_options::{CacheLifetime, Effort, Thinking};
pub use money::{CostRecord, Money, Price, ReservationMark};
pub use names::{
    AgentId, LEAD_AGENT, LEAD_NAME, MemberName, NameError, NodeLabel, NodeName, PERSON,
    PERSON_SENDER, ROOT_VARIABLE, SPAWN_MARK, SYSTEM_SENDER, TeamName, sanitized_collision,
};
pub use node::{NodeReport, NodeShell, Order, OrderOutcome, OrderState, Repository};
pub use outline::{Outline, OutlinedInbox, count_unread};
pub use peer::{
    LONGEST_FRAME, PeerAddress, PeerDelivery, PeerInbound, PeerMessage, PeerMode, PeerRecord,
    PeerSession, PeerStatus,
};
pub use peer_frame::PeerFrame;
pub use public_address::is_public_address;
pub use request::{
    Answer, AnswerInPlace, AnsweredBy, GrantSignature, NETWORK_ACCESS, PLAN_TOOL, RequestKind,
    RequestRecord, RequestState,
};
pub use rewind_scope::RewindScope;
pub use shell_guards::{
    SANDBOX_HELPER, SandboxKind, SandboxNetwork, SandboxUse, ShellGuards, WebSettings,
};
pub use shortened::shortened;
pub use skill::Skill;
pub use ssh_destination::SshDestination;
pub use state::{
    DefinitionReport, Hello, LifeKind, LifeRecord, MemberState, OnLost, PauseMark, RightsReport,
    RuleText, StateReport, WorktreeReport,
};
pub use surrogate::parse_repaired;
pub use task::{
    CheckRun, FailedTask, NewTask, SwarmTask, Task, TaskCheck, TaskFileError, TaskState,
    TaskStatus, unverified,
};
pub use usage::{ContextUse, Usage};
pub use web_answer::WebAnswer;
pub use word_list::word_list;

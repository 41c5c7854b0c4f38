//! Interactions between members: messages and their routing, task tools, hello, permission
//! bridging, and the shutdown handshake. Both sides of each handshake are in this crate.

mod answers;
mod brief;
mod completion;
mod completion_error;
mod context;
mod effects;
mod frame_text;
mod hello;
mod incoming;
mod marked;
mod member_hooks;
mod member_spec;
mod merge_retries;
mod merged;
mod message_input;
mod order;
mod peer_questions;
mod peer_session;
mod permission;
mod receiver_status;
mod send;
mod send_message;
mod shutdown;
mod spending;
mod state_keeper;
mod sub_agent_event;
mod task_checks;
mod task_hooks;
mod task_tools;
mod team_rights;
mod work_merger;

pub use brief::team_brief;
pub use completion::{Completion, CompletionProgress};
pub use completion_error::CompletionError;
pub use context::{MemberContext, NoTeam, TeamCreator};
pub use effects::{reconcile, reconcile_and_view, reserve, stop_work_of_lost};
pub use hello::{HelloMismatch, check_hello};
pub use incoming::{Incoming, sort_mail, speaker};
pub use marked::{
    MemberProcess, life_holders, parks_here, processes_of_members, processes_of_spawn,
    processes_of_spawns, working_directories,
};
pub use member_hooks::member_hooks;
pub use member_spec::{
    MemberDefinition, MemberIdentity, MemberLimits, MemberPermissions, MemberRuntime, MemberSpec,
    MemberWorkspace, RuntimeOrder,
};
pub use merge_retries::{MergeRetries, MergeRetry};
pub use merged::shell_in_merge;
pub use order::{LeadPane, OrderError, PaneSettings, SpawnOrder};
pub use peer_session::{
    HubPlace, PeerError, PeerInbox, PeerLink, PeerListener, PeerPlaces, PeerServer, peer_records,
};
pub use permission::{
    AlwaysGrants, ChangeSignal, EarlierAnswer, OpenRequest, adopt_request, adopt_requests,
    answer_request, earlier_answer, early_plan_wait, end_requests_of_former_leads, open_request,
    wait_for_answer,
};
pub use receiver_status::{ReadTime, ReceiverStatus};
pub use send::{
    Delivered, Prose, Recipient, RecipientError, SendError, Sent, everybody_but, post, send_text,
};
pub use send_message::SendMessageTool;
pub(crate) use shutdown::reject_shutdown;
pub use shutdown::{PendingShutdown, ShutdownAsk, approve_shutdown, request_shutdown};
pub use spending::{BudgetUse, CostSum, TeamSpending, budget_uses, current_task, uses_of};
pub use state_keeper::StateKeeper;
pub use sub_agent_event::TeamNews;
pub use task_checks::check_line;
pub use task_hooks::created_hooks;
pub use task_tools::task_tools;
pub use team_rights::{
    OrderedMode, OrderedRules, TEAM_RULE, allow_for_team, disallow_for_team, ordered_mode,
    ordered_rules, request_mode, team_rules,
};
pub use work_merger::{MergeError, PreparedMerge, WorkMerger};

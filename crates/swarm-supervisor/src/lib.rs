//! Members as processes: spawn, stop, process list, cleanup and takeover, with or without a lead
//! process.

mod cleanup;
mod error;
mod handover;
mod leadership;
mod merger;
mod nodes;
mod process_list;
mod published;
mod reconcile;
mod repositories;
mod spawn;
mod spawn_context;
mod spawn_error;
mod stop;
mod supervised;
mod target_wait;

pub use cleanup::{LeftPane, Verdict, orphaned_panes, verdict};
pub use error::LeadError;
pub use handover::{DeadMember, Handover, Restored, handover};
pub use leadership::{Leadership, implicit_team_name};
pub use merger::{WorktreeMerger, merge_error};
pub use nodes::{
    NodeError, NodeState, OrderWait, SpawnCommand, choose_any, choose_node, node_at, node_of,
    order, order_spawn,
};
pub use process_list::{
    LeadStanding, Orphan, ProcessKind, ProcessStatus, Reaped, SeenProcess, end_processes_of_spawn,
    lead_mark, lead_marks, lead_standing, process_list, reap,
};
pub use published::{
    BranchPublisher, MergeCarrier, MergeOrder, MergeReply, NotFetched, SentTarget, TakenMerge,
    carry_out_merges, fetch_published,
};
pub use reconcile::{Reconciling, begin_reconcile, reconcile_outcome, reconcile_team};
pub use repositories::{RepositoryError, receive_repository};
pub use spawn::{SpawnOptions, SpawnTurn, SpawnedMember, WorktreeWish, blocking};
pub use spawn_context::{FindSandbox, ProcessIdentity, ResolveModel, ResolveRuntime, SpawnContext};
pub use spawn_error::SpawnError;
pub use stop::{
    FORCED_PATIENCE, LeftOfTeam, LeftWorktree, StopOptions, StopOutcome, StopReport,
    TeamStopReport, finish_worktree, started_elsewhere,
};
pub use supervised::{SupervisedMember, SupervisedTeam};
pub use target_wait::wait_for_target;

//! Stopping members: the shutdown handshake, termination after the timeout, and stopping a whole
//! team.

mod cancel_spawn;
mod escalate;
mod finish;
mod kill;
mod outcome;
mod pane;
mod shutdown;
mod team;
mod worktree_outcome;

pub(crate) use escalate::member_liveness;
pub use escalate::{await_reported_end, member_death, runs_elsewhere, started_elsewhere};
pub(crate) use finish::{clean_up_after, has_conversation};
pub use finish::{clean_up_after_lead, clear_dead, dead_namesake, finish, namesake};
pub use kill::kill;
pub(crate) use kill::{end_live_namesake, kill_spawn};
pub use outcome::{FORCED_PATIENCE, StopOptions, StopOutcome, StopReport};
pub(crate) use pane::close_remaining_pane;
pub use shutdown::shutdown;
pub use team::{LeftOfTeam, TeamStopReport, end_team, end_without_roster, kill_team};
pub use worktree_outcome::{LeftWorktree, finish_worktree};

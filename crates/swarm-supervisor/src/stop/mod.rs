//! Stopping members: the shutdown handshake, termination after the timeout, and stopping a whole
//! team.

mod escalate;
mod finish;
mod kill;
mod outcome;
mod pane;
mod shutdown;
mod team;
mod worktree_outcome;

pub use escalate::started_elsewhere;
pub use outcome::{FORCED_PATIENCE, StopOptions, StopOutcome, StopReport};
pub use team::{LeftOfTeam, TeamStopReport};
pub use worktree_outcome::{LeftWorktree, finish_worktree};

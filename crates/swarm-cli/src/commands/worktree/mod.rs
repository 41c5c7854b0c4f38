//! `swarm worktree …`.

mod diff;
mod dispatch;
mod list;
mod merge;
mod merge_carrier;
mod merging;
mod own;
mod published;
mod remove;
mod wish;

pub(super) use diff::{collision_line, show_diff};
pub(super) use dispatch::{WorktreeCommand, run};
pub(super) use list::abandoned;
pub(super) use merge_carrier::PublishedMerges;
pub(super) use own::{OwnWorktree, leave_entered};
pub(super) use published::fetch;
pub(super) use wish::{no_prompt, wish};

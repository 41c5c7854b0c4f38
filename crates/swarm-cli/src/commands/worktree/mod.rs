//! `swarm worktree …`.

mod abandoned;
mod dispatch;
mod list;
mod merge;
mod own;
mod remove;
mod wish;

pub(super) use abandoned::abandoned;
pub(super) use dispatch::{WorktreeCommand, run};
pub(super) use own::{OwnWorktree, leave_entered};
pub(super) use wish::{no_prompt, wish};

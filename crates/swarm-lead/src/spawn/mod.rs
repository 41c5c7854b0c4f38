//! Spawning a member: reserve, pane, hello, commit; any failure undoes everything.

mod attempt;
mod await_hello;
mod kind;
mod options;
mod order;
mod steps;
mod worktree;

#[cfg(test)]
mod tests;

pub use options::{SpawnOptions, SpawnedMember, WorktreeWish};
pub use steps::spawn;
pub(crate) use steps::spawn_in_turn;
pub(crate) use worktree::blocking;

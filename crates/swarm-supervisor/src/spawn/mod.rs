//! Spawning a member: reserve, open a pane, wait for the hello, commit; a failure rolls everything
//! back.

mod attempt;
mod await_hello;
mod kind;
mod options;
mod order;
mod steps;
mod worktree;

pub use options::{SpawnOptions, SpawnedMember, WorktreeWish};
pub use steps::SpawnTurn;
pub use worktree::blocking;

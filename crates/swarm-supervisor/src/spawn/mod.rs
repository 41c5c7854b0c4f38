//! Spawning a member: reserve, pane, hello, commit; any failure undoes everything.

mod attempt;
mod await_hello;
mod kind;
mod options;
mod order;
mod steps;
mod worktree;

pub use options::{SpawnOptions, SpawnedMember, WorktreeWish};
pub use steps::{SpawnTurn, spawn, spawn_in, spawn_in_turn};
pub use worktree::blocking;

//! Worktrees of real repositories, made with the real git.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unused_self,
    clippy::unnecessary_debug_formatting,
    clippy::disallowed_methods,
    reason = "a test says what it expects, and its files and environment are nobody else's"
)]

mod beside;
mod by_hook;
mod carrying;
mod creation;
mod hostile;
mod killed;
mod matrix;
mod merging;
mod others;
mod planted;
mod removal;
mod scene;
mod summary;

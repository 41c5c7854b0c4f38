//! Worktrees of real repositories, created with the real git.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unused_self,
    clippy::unnecessary_debug_formatting,
    clippy::disallowed_methods,
    reason = "tests panic on failure and own their files and environment"
)]

mod by_hook;
mod concurrent;
mod copied_files;
mod creation;
mod fixture;
mod forecast;
mod hostile;
mod killed;
mod matrix;
mod merging;
mod planted;
mod remote;
mod removal;
mod reuse;
mod summary;
mod transfer;

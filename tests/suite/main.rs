//! One binary for the tests from outside: the architecture rules and whole teams.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and writes files as other programs do"
)]

mod architecture;
mod by_hand;
mod demo;
mod faults;
mod flow;
mod hostile;
mod hub;
mod hub_disk;
mod hub_failures;
mod hub_limits;
mod hub_merges;
mod hub_requests;
mod hub_worktrees;
mod interop;
mod long_runs;
mod machines;
mod mcp;
mod node_failures;
mod node_orders;
mod node_worktrees;
mod nodes;
mod nodes_of_leads;
mod pages;
mod pains;
mod prompt_cache;
mod scene;
mod trust;

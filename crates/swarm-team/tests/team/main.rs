//! Interactions between members, on real files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test ends with a panic, and plays the programs that write files in their own way"
)]

mod brief;
mod claude_session;
mod completion;
mod foreign_requests;
mod former_leads;
mod hello;
mod incoming;
mod mailed_answers;
mod marked;
mod merger;
mod order;
mod peer_session;
mod permission;
mod plan;
mod questions;
mod reconcile;
mod request_rig;
mod rights;
mod send;
mod send_message;
mod shutdown;
mod state_keeper;
mod tasks;
mod world;

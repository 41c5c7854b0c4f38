//! The tools at work on real files and processes.
#![allow(
    clippy::unwrap_used,
    reason = "a scene that cannot be set fails the test"
)]

mod bash;
mod commands;
mod documents;
mod files;
mod guard;
mod scene;
mod search;

//! Tests of the tools on real files and processes.
#![allow(
    clippy::unwrap_used,
    reason = "a scene that cannot be created fails the test"
)]

mod bash;
mod commands;
mod documents;
mod files;
mod guard;
mod scene;
mod search;

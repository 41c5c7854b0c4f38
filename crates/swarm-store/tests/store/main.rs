//! The store on a real disk, with threads, processes and deaths.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends with a panic, and its child processes talk by printing"
)]

mod accounts;
mod children;
mod durable;
mod foreign;
mod grants;
mod journal;
mod leftovers;
mod links;
mod look;
mod mail;
mod reconcile;
#[path = "../../../swarm-os/tests/disk/recorder.rs"]
mod recorder;
mod requests;
mod roster;
mod storm_deaths;
mod storm_processes;
mod tasks;
mod teams;
mod unblocked;
#[path = "../contract/values.rs"]
mod values;
mod world;

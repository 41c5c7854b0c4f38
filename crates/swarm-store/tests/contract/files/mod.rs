//! What only the file kind promises, on a real disk, with threads, processes and deaths.

mod accounts;
mod children;
mod durable;
mod durable_records;
mod foreign;
mod grants;
mod journal;
mod leftovers;
mod links;
mod look;
mod mail;
mod reconcile;
#[path = "../../../../swarm-os/tests/disk/recorder.rs"]
pub(crate) mod recorder;
mod requests;
mod roster;
mod storm_deaths;
mod storm_processes;
mod tasks;
mod teams;
mod unblocked;
mod world;

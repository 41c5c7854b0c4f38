//! Replays power cuts during operations of the store, see `disk`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends with a panic"
)]

#[path = "../contract/files/world.rs"]
#[expect(dead_code, reason = "shared with the other tests of the store")]
mod files;
#[path = "../contract/kinds.rs"]
#[expect(dead_code, reason = "shared with the other tests of the store")]
mod kinds;
#[path = "../contract/values.rs"]
#[expect(dead_code, reason = "shared with the other tests of the store")]
mod values;
#[path = "../contract/world.rs"]
#[expect(dead_code, reason = "shared with the other tests of the store")]
mod world;

#[path = "../../../swarm-os/tests/disk/disk_steps.rs"]
mod disk_steps;

mod disk;
mod mail;
mod requests;
mod spawns;
mod tasks;

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

mod aside;
mod deaths;
mod disk;
mod mail;
mod requests;
mod spawns;
mod tasks;
mod teams;

use swarm_store::FileStore;

use crate::files::{World, store_at};

/// Does `work` and opens every state that a power cut could have left during it. `check` returns
/// whether the work is done in a state, and fails if it is done by half. After `work` it must be.
fn replay(world: &World, work: impl FnOnce(), check: impl Fn(&FileStore) -> bool) {
    disk::replay(&world.root, work, |root, ()| check(&store_at(root)));
}

//! Waiting for an answer does not poll.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::DirectoryWatcher;
use swarm_store::{BlockOn as _, TeamStore};

use super::world::{World, bob};
use crate::broker::PermissionBroker;
use crate::mail::MailHandler;
use crate::teammate::mail::TeammateMail;

/// Timeout for an event: events take well under a millisecond.
const QUIET: Duration = Duration::from_millis(20);

#[test]
fn reading_inbox_and_queue_does_not_wake_the_waiter() {
    let world = World::new();
    let spawn = world.join("bob", None);
    world.say("hello");
    let mail = MailHandler::new(world.context(spawn), Arc::new(TeammateMail::default()));
    let broker = PermissionBroker {
        mail: Arc::new(mail),
        watcher: Arc::new(DirectoryWatcher::new()),
        reporter: world.reporter(spawn),
        timeout: world.limits.permission_timeout(),
    };
    let mut wake = broker.wake(&*world.store.team(&world.team));
    // The sweep may run once in this time; a check that wakes itself would wake every time.
    let mut wakes = 0;
    for _ in 0..20 {
        world
            .store
            .team(&world.team)
            .take_unread(&bob())
            .block_on()
            .unwrap();
        world.store.team(&world.team).requests().block_on().unwrap();
        wakes += usize::from(wake.inbox.changed_blocking(QUIET));
        wakes += usize::from(wake.requests.changed_blocking(QUIET));
    }
    assert!(wakes < 10, "{wakes}");
    world.say("more");
    assert!(wake.inbox.changed_blocking(Duration::from_secs(20)));
}

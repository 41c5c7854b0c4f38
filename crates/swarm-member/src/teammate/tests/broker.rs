//! Waiting for an answer does not poll.

use std::sync::Arc;
use std::time::Duration;

use swarm_os::DirectoryWatcher;
use swarm_store::{BlockOn as _, Changes};

use super::world::{World, bob};
use crate::broker::PermissionBroker;
use crate::mail::MailHandler;
use crate::teammate::mail::TeammateMail;

/// Timeout for an event: events take well under a millisecond.
const QUIET: Duration = Duration::from_millis(20);

async fn is_woken(changes: &mut Changes, within: Duration) -> bool {
    tokio::time::timeout(within, changes.changed())
        .await
        .is_ok()
}

#[tokio::test]
async fn reading_inbox_and_queue_does_not_wake_the_waiter() {
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
    let mut wake = broker.wake(&*world.crew());
    // The sweep may run once in this time; a check that wakes itself would wake every time.
    let mut wakes = 0;
    for _ in 0..20 {
        world.crew().take_unread(&bob()).block_on().unwrap();
        world.crew().requests().block_on().unwrap();
        wakes += usize::from(is_woken(&mut wake.0[0], QUIET).await);
        wakes += usize::from(is_woken(&mut wake.0[1], QUIET).await);
    }
    assert!(wakes < 10, "{wakes}");
    world.say("more");
    assert!(is_woken(&mut wake.0[0], Duration::from_secs(20)).await);
}

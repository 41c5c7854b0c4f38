//! Calls of a file team while locks are free, or some of them.

use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use swarm_store::{BlockOn as _, Draft, StoreError, TaskChange, TeamStore};
use tokio::runtime::{Builder, Runtime};
use tokio::task::coop;

use crate::files::world::{World, id, name};
use crate::values::ForeignLocks;

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// Polls a call once. Returns whether it is pending.
fn is_pending<F: Future + ?Sized>(call: &mut Pin<Box<F>>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(call.as_mut().poll(&mut context), Poll::Pending)
}

#[test]
fn a_call_without_contention_is_done_at_the_first_poll() {
    let world = World::with_member("bob");
    let runtime = runtime();
    let _entered = runtime.enter();
    let team = world.handle();
    let bob = name("bob");
    let mut call = team.send(&bob, Draft::person("hello"));
    assert!(!is_pending(&mut call));
    assert_eq!(world.unread("bob").len(), 1);
}

#[test]
fn a_call_that_blocks_a_task_is_done_even_if_the_task_has_to_yield() {
    let world = World::with_member("bob");
    let team = world.handle();
    let (done, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async {
            while coop::has_budget_remaining() {
                coop::consume_budget().await;
            }
            let letters = [(name("bob"), Draft::person("hello"))];
            done.send(team.post_all(&letters).block_on()).unwrap();
        });
    });
    let outcome = outcome.recv_timeout(Duration::from_secs(20));
    let sent = outcome.expect("it waits for its own thread").unwrap();
    assert!(sent[0].is_ok());
}

#[test]
fn an_update_of_a_locked_task_changes_nothing_before_it_is_repeated() {
    let world = World::with_member("bob");
    world.create("one", &[]);
    world.create("two", &[1]);
    let before = world.files();
    let runtime = runtime();
    let _entered = runtime.enter();
    let store = world.store.clone();
    // The list is free but the second file is locked: an update of both gets only half of its
    // locks.
    let foreign = ForeignLocks::on([world.task_path(2)]);
    let hurried = store
        .team(&world.team)
        .with_lock_timeout(Duration::from_millis(50));
    let change = TaskChange {
        add_blocked_by: vec![world.create("three", &[])],
        ..TaskChange::default()
    };
    let later = world.files();
    assert_ne!(before, later);
    let actor = world.person();
    let two = id(2);
    let refused = runtime
        .block_on(hurried.update_task(&two, change, &actor))
        .unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::Fs(swarm_os::OsError::LockTimeout { .. })
        ),
        "{refused:?}"
    );
    // The message may be part of a sentence that gives other advice.
    assert!(!refused.to_string().contains("try again"), "{refused}");
    assert!(refused.hint().unwrap().starts_with("try again"));
    assert_eq!(world.files(), later);
    drop(foreign);
    let task = world.handle().tasks().block_on().unwrap();
    assert_eq!(task.tasks.len(), 3);
}

#[test]
fn a_notice_for_a_locked_inbox_does_not_fail_the_change_and_is_delivered_later() {
    let world = World::with_member("bob");
    world.create("one", &[]);
    let foreign = ForeignLocks::on([world.inbox_path("bob")]);
    let hurried = world.handle().with_lock_timeout(Duration::from_millis(50));
    let assign = TaskChange {
        owner: Some(name("bob")),
        ..TaskChange::default()
    };
    let person = world.person();
    hurried
        .update_task(&id(1), assign, &person)
        .block_on()
        .unwrap();
    // A change of the list does not wait for an inbox, and a deleted task has still been assigned.
    hurried.delete_task(&id(1), &person).block_on().unwrap();
    assert!(world.unread("bob").is_empty());
    assert!(world.handle().view().block_on().unwrap().needs_reconcile);
    let undelivered = world.handle().undelivered().block_on();
    assert_eq!(undelivered.len(), 1);
    assert_eq!(undelivered[0].to, name("bob"));
    assert!(undelivered[0].why.contains("locked"), "{undelivered:?}");
    // A handle that would wait longer than the test may last.
    let patient = world.handle().with_lock_timeout(Duration::from_secs(20));
    let began = Instant::now();
    patient.reconcile().block_on().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10));
    drop(foreign);
    for _ in 0..2 {
        world.handle().reconcile().block_on().unwrap();
        assert_eq!(world.unread("bob").len(), 1);
    }
    assert!(!world.handle().view().block_on().unwrap().needs_reconcile);
}

#[test]
fn a_notice_for_a_free_inbox_does_not_wait_for_the_next_change_because_another_is_locked() {
    let world = World::with_member("alice");
    world.join("bob");
    for owner in ["alice", "bob"] {
        world.create(owner, &[]);
    }
    let person = world.person();
    let assign = |number: u64, owner: &str, within: u64| {
        let team = world.handle();
        let team = team.with_lock_timeout(Duration::from_millis(within));
        let change = TaskChange {
            owner: Some(name(owner)),
            ..TaskChange::default()
        };
        team.update_task(&id(number), change, &person)
            .block_on()
            .unwrap();
    };
    let _alice = ForeignLocks::on([world.inbox_path("alice")]);
    assign(1, "alice", 50);
    let bob = ForeignLocks::on([world.inbox_path("bob")]);
    std::thread::scope(|scope| {
        let assigning = scope.spawn(|| assign(2, "bob", 1000));
        // The reason is there once the first attempt has failed.
        let outbox = world.file("swarm/tasks.outbox.json");
        while !fs::read_to_string(&outbox).is_ok_and(|text| text.contains("bob.json")) {
            std::thread::yield_now();
        }
        drop(bob);
        assigning.join().unwrap();
    });
    assert_eq!(world.unread("bob").len(), 1);
    let undelivered = world.handle().undelivered().block_on();
    assert_eq!(undelivered.len(), 1, "{undelivered:?}");
    assert_eq!(undelivered[0].to, name("alice"));
    let why = &undelivered[0].why;
    assert!(!why.contains("waited 0.0 s"), "{why}");
}

#[test]
fn the_list_is_free_while_a_notice_waits_for_an_inbox() {
    let world = World::with_member("bob");
    world.create("one", &[]);
    world.create("two", &[]);
    let person = world.person();
    let foreign = ForeignLocks::on([world.inbox_path("bob")]);
    let hurried = world.handle().with_lock_timeout(Duration::from_millis(300));
    std::thread::scope(|scope| {
        let assigning = scope.spawn(|| {
            let assign = TaskChange {
                owner: Some(name("bob")),
                ..TaskChange::default()
            };
            let team = world.handle();
            team.update_task(&id(1), assign, &person).block_on()
        });
        while world
            .handle()
            .task(&id(1))
            .block_on()
            .unwrap()
            .owner
            .is_none()
        {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        hurried.claim(&id(2), &person).block_on().unwrap();
        drop(foreign);
        assigning.join().unwrap().unwrap();
    });
    world.handle().reconcile().block_on().unwrap();
    assert_eq!(world.unread("bob").len(), 1);
}

/// Assigns a task to bob, whose inbox is locked. Returns the path and the content of the outbox.
fn undelivered(world: &World) -> (PathBuf, Vec<u8>) {
    world.create("one", &[]);
    let _foreign = ForeignLocks::on([world.inbox_path("bob")]);
    let hurried = world.handle().with_lock_timeout(Duration::from_millis(50));
    let assign = TaskChange {
        owner: Some(name("bob")),
        ..TaskChange::default()
    };
    let person = world.person();
    hurried
        .update_task(&id(1), assign, &person)
        .block_on()
        .unwrap();
    let outbox = world.file("swarm/tasks.outbox.json");
    let kept = fs::read(&outbox).unwrap();
    (outbox, kept)
}

#[test]
fn a_notice_that_a_killed_process_delivered_is_not_delivered_again_after_its_receiver_deleted_it() {
    let world = World::with_member("bob");
    let (outbox, kept) = undelivered(&world);
    world.handle().reconcile().block_on().unwrap();
    assert_eq!(world.unread("bob").len(), 1);
    assert!(!outbox.exists());
    swarm_os::replace_alone(&world.inbox_path("bob"), b"[]").unwrap();
    swarm_os::replace_alone(&outbox, &kept).unwrap();
    world.handle().reconcile().block_on().unwrap();
    assert!(world.unread("bob").is_empty());
    assert!(!outbox.exists());
}

#[test]
fn a_notice_that_a_killed_process_left_is_reported() {
    let world = World::with_member("bob");
    let (outbox, kept) = undelivered(&world);
    let mut left: serde_json::Value = serde_json::from_slice(&kept).unwrap();
    left[0]["why"] = serde_json::Value::Null;
    swarm_os::replace_alone(&outbox, left.to_string().as_bytes()).unwrap();
    let found = world.handle().undelivered().block_on();
    assert_eq!(found.len(), 1);
    assert!(found[0].to == name("bob") && !found[0].was_tried);
}

#[test]
fn a_notice_for_a_removed_member_is_dropped() {
    let world = World::with_member("bob");
    let (outbox, kept) = undelivered(&world);
    fs::remove_file(&outbox).unwrap();
    let bob = name("bob");
    let removed = world.handle().remove_member(&bob, None).block_on().unwrap();
    assert!(removed.is_some());
    let inbox = world.inbox_path("bob");
    if inbox.exists() {
        fs::remove_file(&inbox).unwrap();
    }
    swarm_os::replace_alone(&outbox, &kept).unwrap();
    world.handle().reconcile().block_on().unwrap();
    assert!(!inbox.exists() && !outbox.exists());
}

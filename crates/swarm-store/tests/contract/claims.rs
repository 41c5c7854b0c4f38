//! Claims, dependencies and ownership of tasks.

use std::thread;

use swarm_protocol::{ErrorKind, TaskState, TaskStatus};
use swarm_store::{BlockOn as _, StatusChange, StoreError, Topic};

use crate::values::{id, killed, name};
use crate::world::{World, owner, status};

pub(crate) fn t2_a_blocked_task_can_neither_be_begun_nor_completed(world: &World) {
    world.create("first", &[]);
    world.create("second", &[1]);
    let alice = world.actor("alice");
    let before = world.content();
    for outcome in [
        world.handle().claim(&id(2), &alice).block_on().map(drop),
        world
            .update(2, status(TaskStatus::InProgress), &alice)
            .map(drop),
        world
            .update(2, status(TaskStatus::Completed), &alice)
            .map(drop),
        world
            .update(2, status(TaskStatus::Completed), &world.person().forced())
            .map(drop),
    ] {
        let error = outcome.unwrap_err();
        assert!(matches!(&error, StoreError::Blocked { by, .. } if *by == [id(1)]));
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    assert_eq!(world.content(), before);
    // Also if the blocker is created in the same call.
    world.create("third", &[]);
    let mut change = status(TaskStatus::InProgress);
    change.add_blocked_by = vec![id(1)];
    let error = world.update(3, change, &alice).unwrap_err();
    assert!(matches!(error, StoreError::Blocked { .. }));
    let third = world.handle().task(&id(3)).block_on().unwrap();
    assert!(third.blocked_by.is_empty());
}

pub(crate) fn t3_completing_the_last_blocker_names_what_it_unblocked_once(world: &World) {
    world.create("a", &[]);
    world.create("b", &[]);
    world.create("of bob", &[1, 2]);
    world.create("of nobody", &[2]);
    world.create("later", &[3]);
    let person = world.person();
    world.update(3, owner("bob"), &person).unwrap();
    let done = world
        .update(1, status(TaskStatus::Completed), &person)
        .unwrap();
    assert!(done.unblocked.is_empty());
    assert_eq!(
        done.status_change,
        Some(StatusChange {
            from: TaskState::Pending,
            to: TaskState::Completed
        })
    );
    let done = world
        .update(2, status(TaskStatus::Completed), &person)
        .unwrap();
    let unblocked: Vec<_> = done.unblocked.iter().map(|task| task.id).collect();
    assert_eq!(unblocked, [id(3), id(4)]);
    assert_eq!(done.unblocked[0].owner.as_deref(), Some("bob"));
    let again = world
        .update(2, status(TaskStatus::Completed), &person)
        .unwrap();
    assert!(again.unblocked.is_empty());
    assert_eq!((again.status_change, again.changed_fields), (None, vec![]));
}

pub(crate) fn a_claim_that_finds_nothing_to_do_writes_nothing(world: &World) {
    let alice = world.actor("alice");
    world.create("of bob", &[]);
    world.update(1, owner("bob"), &world.person()).unwrap();
    let before = world.content();
    let found = world.handle().claim_next(&alice).block_on().unwrap();
    assert!(found.is_none());
    assert_eq!(world.content(), before);
    // Also by one that knows the list.
    let watcher = swarm_os::DirectoryWatcher::new();
    let crew = world.handle();
    let _changes = crew.watch(&watcher, &Topic::Tasks);
    for _ in 0..2 {
        assert!(crew.claim_next(&alice).block_on().unwrap().is_none());
    }
    assert_eq!(world.content(), before);
    world.create("of nobody", &[]);
    let found = crew.claim_next(&alice).block_on().unwrap();
    assert_eq!(found.unwrap().id, id(2));
}

pub(crate) fn t1_a_rejected_claim_names_the_owner(world: &World) {
    world.create("work", &[]);
    let alice = world.actor("alice");
    let task = world.handle().claim(&id(1), &alice).block_on().unwrap();
    let mark = task.swarm();
    assert_eq!(mark.claimed_by, Some(alice.agent_id.clone()));
    assert!(mark.claimed_at.is_some());
    assert_eq!((mark.version, task.status), (1, TaskStatus::InProgress));
    let before = world.content();
    assert_eq!(
        world.handle().claim(&id(1), &alice).block_on().unwrap(),
        task
    );
    let bob = world.actor("bob");
    let error = world.handle().claim(&id(1), &bob).block_on().unwrap_err();
    assert!(matches!(&error, StoreError::Taken { owner, .. } if owner == "alice"));
    let error = world
        .update(1, status(TaskStatus::InProgress), &bob)
        .unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }));
    assert_eq!(world.content(), before);
    assert_eq!(world.handle().claim_next(&bob).block_on().unwrap(), None);
}

pub(crate) fn completing_anothers_task_is_a_conflict_unless_a_person_insists(world: &World) {
    for subject in ["one", "two"] {
        world.create(subject, &[]);
    }
    let alice = world.actor("alice");
    for number in [1, 2] {
        world
            .handle()
            .claim(&id(number), &alice)
            .block_on()
            .unwrap();
    }
    let lead = world.actor("team-lead");
    for by in [
        world.actor("bob"),
        world.person(),
        lead.clone(),
        lead.forced(),
    ] {
        let error = world
            .update(1, status(TaskStatus::Completed), &by)
            .unwrap_err();
        assert!(matches!(&error, StoreError::NotYours { owner, .. } if owner == "alice"));
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    let mut change = status(TaskStatus::Completed);
    change.result = Some("done by hand".to_owned());
    let done = world.update(1, change, &world.person().forced()).unwrap();
    assert_eq!(done.task.owner.as_deref(), Some("alice"));
    assert_eq!(done.task.swarm().result.as_deref(), Some("done by hand"));
    let mut change = status(TaskStatus::Completed);
    change.result = Some("42".to_owned());
    let done = world.update(2, change, &alice).unwrap();
    assert_eq!(done.changed_fields, ["status", "result"]);
}

pub(crate) fn who_is_in_charge_assigns_anew_and_fences_the_old_owner(world: &World) {
    world.create("work", &[]);
    let alice = world.actor("alice");
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let error = world
        .update(1, owner("bob"), &world.actor("bob"))
        .unwrap_err();
    assert!(matches!(error, StoreError::Taken { .. }));
    let moved = world
        .update(1, owner("bob"), &world.actor("team-lead"))
        .unwrap();
    assert_eq!(moved.task.status, TaskStatus::Pending);
    assert_eq!(moved.task.swarm().claimed_by, None);
    let error = world
        .update(1, status(TaskStatus::Completed), &alice)
        .unwrap_err();
    assert!(matches!(error, StoreError::NotYours { .. }));
    let error = world
        .handle()
        .release(&id(1), &alice)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::NotYours { .. }));
    let bob = world.actor("bob");
    world.handle().claim(&id(1), &bob).block_on().unwrap();
    world
        .update(1, status(TaskStatus::Completed), &bob)
        .unwrap();
    let error = world
        .update(1, owner("alice"), &world.person())
        .unwrap_err();
    assert!(
        matches!(error, StoreError::TaskResolved(_)),
        "a finished task is not assigned"
    );
    let error = world.handle().release(&id(1), &bob).block_on().unwrap_err();
    assert!(matches!(error, StoreError::TaskResolved(_)));
    let reopened = world.update(1, status(TaskStatus::Pending), &bob).unwrap();
    assert_eq!(reopened.task.owner.as_deref(), Some("bob"));
}

pub(crate) fn claim_next_prefers_own_tasks_to_tasks_without_owner(world: &World) {
    world.create("free", &[]);
    world.create("of bob", &[]);
    world.create("blocked", &[1]);
    world.create("of alice", &[]);
    let person = world.person();
    world.update(2, owner("bob"), &person).unwrap();
    world.update(4, owner("alice"), &person).unwrap();
    let alice = world.actor("alice");
    let next = || {
        let claimed = world.handle().claim_next(&alice).block_on().unwrap();
        claimed.map(|task| task.id.number())
    };
    assert_eq!(next(), Some(4));
    assert_eq!(next(), Some(1));
    assert_eq!(next(), None);
}

pub(crate) fn t1_of_eight_that_claim_a_task_one_gets_it(world: &World) {
    world.create("work", &[]);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn(move || {
                    let actor = world.actor(&format!("mate{number}"));
                    world.handle().claim(&id(1), &actor).block_on()
                })
            })
            .collect();
        let outcomes = racers.into_iter().map(|racer| racer.join().unwrap());
        outcomes.collect()
    });
    let won: Vec<_> = outcomes.iter().flatten().collect();
    assert_eq!(won.len(), 1);
    let owner = won[0].owner.as_deref().unwrap();
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert!(matches!(error, StoreError::Taken { owner: by, .. } if by == owner));
    }
}

pub(crate) fn t1_of_several_that_claim_the_next_task_each_gets_another(world: &World) {
    for _ in 0..6 {
        world.create("work", &[]);
    }
    let mut claimed: Vec<_> = thread::scope(|scope| {
        let racers: Vec<_> = (0..4)
            .map(|number| {
                scope.spawn(move || {
                    let actor = world.actor(&format!("mate{number}"));
                    let next = || world.handle().claim_next(&actor).block_on().unwrap();
                    std::iter::from_fn(next).map(|task| task.id).collect()
                })
            })
            .collect();
        let claimed = racers.into_iter().map(|racer| racer.join().unwrap());
        claimed.collect::<Vec<Vec<_>>>().concat()
    });
    claimed.sort_unstable();
    assert_eq!(claimed, (1..7).map(id).collect::<Vec<_>>());
}

/// A claim is before the removal, and the task is released by it, or after it, and refused.
pub(crate) fn t4_a_claim_and_the_removal_of_its_actor_leave_no_task_behind(world: &World) {
    for number in 1..=6 {
        world.create("work", &[]);
        let spawn = world.join("alice");
        let alice = world.spawned("alice", spawn);
        let (claimed, removed) = thread::scope(|scope| {
            let claim = scope.spawn(|| world.handle().claim(&id(number), &alice).block_on());
            let team = world.handle();
            let removed = team
                .remove_member(&name("alice"), Some(&killed(spawn)))
                .block_on();
            (claim.join().unwrap(), removed.unwrap().unwrap())
        });
        match claimed {
            Ok(_) => assert_eq!(removed.released, [id(number)]),
            Err(error) => assert!(matches!(error, StoreError::SpawnGone { .. }), "{error}"),
        }
        let task = world.handle().task(&id(number)).block_on().unwrap();
        assert_eq!((task.owner, task.status), (None, TaskStatus::Pending));
    }
}

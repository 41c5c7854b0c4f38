//! Reconciliation after deaths.

use std::fs;
use std::sync::Barrier;
use std::thread;

use swarm_os::Liveness;
use swarm_protocol::{
    Answer, AnsweredBy, ErrorKind, Event, MemberState, RequestId, RequestKind, RequestRecord,
    RequestState, SpawnId, StateReport, TaskState, TaskStatus, UnixMs, Usage,
};
use swarm_store::{Actor, BlockOn as _, Draft, ReconcileReport, StoreError, TaskChange, TeamStore};

use crate::children::Child;
use crate::world::{World, id, name, new_member};

fn member(world: &World, called: &str, spawn: SpawnId) -> Actor {
    Actor::member(&world.team, name(called), Some(spawn))
}

fn deaths(world: &World, spawn: SpawnId) -> Vec<Event> {
    let events = world.events().into_iter();
    events
        .filter(|event| match event {
            Event::MemberDied { spawn_id, .. } | Event::MemberStopped { spawn_id, .. } => {
                *spawn_id == spawn
            }
            _ => false,
        })
        .collect()
}

#[test]
fn l6_a_killed_member_is_dead_immediately_with_one_event_and_its_tasks_released() {
    let world = World::new();
    let spawn = world.join("alice");
    let mut child = Child::start("lives", &world.root, "alice");
    child.hear_ready();
    assert_eq!(
        world.handle().reconcile().block_on().unwrap(),
        ReconcileReport::default()
    );
    assert_eq!(
        world.handle().liveness(&name("alice")).block_on().unwrap(),
        Liveness::Alive
    );
    world.create("begun", &[]);
    world.create("assigned", &[]);
    let alice = member(&world, "alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let assign = TaskChange {
        owner: Some(name("alice")),
        ..TaskChange::default()
    };
    world
        .handle()
        .update_task(&id(2), assign, &world.person())
        .block_on()
        .unwrap();
    child.kill();
    let view = &world.handle().member_view().block_on().unwrap()[1];
    assert_eq!(
        (view.state, view.liveness),
        (MemberState::Dead, Liveness::Dead)
    );

    let together = Barrier::new(8);
    let reports: Vec<ReconcileReport> = thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    world.handle().reconcile().block_on().unwrap()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let reported: Vec<_> = reports.iter().flat_map(|report| &report.died).collect();
    assert_eq!(reported.len(), 1, "one of eight tells of the death");
    assert_eq!(reported[0].released, [id(1), id(2)]);
    assert!(!reported[0].in_order);
    let events = deaths(&world, spawn);
    assert_eq!(events.len(), 1);
    assert!(matches!(&events[0], Event::MemberDied { released, .. } if released.len() == 2));

    let tasks = world.handle().tasks().block_on().unwrap().tasks;
    assert_eq!(tasks[0].swarm().attempt, 1);
    assert_eq!(tasks[1].swarm().attempt, 0, "it had not been begun");
    for task in &tasks {
        assert_eq!(
            (task.owner.as_deref(), task.status),
            (None, TaskStatus::Pending)
        );
    }
    let config = world.handle().config().block_on().unwrap();
    let mark = config
        .member(&name("alice"))
        .unwrap()
        .swarm
        .clone()
        .unwrap();
    assert!(mark.died_at.is_some());
}

fn report(spawn_id: SpawnId, state: MemberState) -> StateReport {
    StateReport {
        spawn_id,
        state,
        since: UnixMs(1),
        detail: None,
        task: None,
        turns: 1,
        progress: 1,
        usage: Usage::default(),
        context: None,
        commands: Vec::new(),
    }
}

fn told(world: &World) -> Vec<String> {
    let inbox = world.handle().inbox(&name("team-lead")).block_on().unwrap();
    // A lead of another program shows a message in the lead's own name as unverified.
    assert!(inbox.entries.iter().all(|entry| entry.from == "system"));
    inbox.entries.into_iter().map(|entry| entry.text).collect()
}

#[test]
fn a_death_is_reported_once_even_if_recording_it_is_interrupted() {
    let world = World::new();
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    world.create("begun", &[]);
    let alice = member(&world, "alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let directory = world.handle().team_directory();
    let (config, journal) = (
        directory.join("config.json"),
        directory.join("swarm/journal.jsonl"),
    );
    let before = fs::read(&config).unwrap();

    // Simulates a kill between journal and mail: the mail cannot be written.
    let inbox = world.inbox_path("team-lead");
    fs::create_dir(&inbox).unwrap();
    world.handle().reconcile().block_on().unwrap_err();
    fs::remove_dir(&inbox).unwrap();
    let entered = fs::read(&journal).unwrap();
    assert_eq!(deaths(&world, spawn).len(), 1);
    world.handle().reconcile().block_on().unwrap();
    assert_eq!(told(&world).len(), 1);
    assert!(told(&world)[0].contains("alice died unexpectedly"));
    assert!(
        told(&world)[0].contains("Given back: #1."),
        "{:?}",
        told(&world)
    );

    // Simulates kills before the roster was written, and before the mail was in the journal.
    swarm_os::replace_alone(&config, &before).unwrap();
    world.handle().reconcile().block_on().unwrap();
    swarm_os::replace_alone(&config, &before).unwrap();
    swarm_os::replace_alone(&journal, &entered).unwrap();
    world.handle().reconcile().block_on().unwrap();
    assert_eq!(told(&world).len(), 1);
    assert_eq!(deaths(&world, spawn).len(), 1);
}

#[test]
fn the_death_of_a_terminated_process_has_its_reported_reason() {
    let world = World::new();
    let spawn = world.join("alice");
    let report = StateReport {
        detail: Some("its process was told to stop".to_owned()),
        ..report(spawn, MemberState::Dead)
    };
    world
        .handle()
        .write_state(&name("alice"), &report)
        .block_on()
        .unwrap();
    drop(world.live("alice", spawn));
    world.handle().reconcile().block_on().unwrap();
    let told = told(&world).pop().unwrap();
    assert!(
        told.contains("alice died unexpectedly (ended: its process was told to stop)."),
        "{told}"
    );
}

#[test]
fn a_death_that_was_half_entered_is_entered_once() {
    let world = World::new();
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    world.create("begun", &[]);
    let alice = member(&world, "alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let config = world.handle().team_directory().join("config.json");
    let before = fs::read(&config).unwrap();
    world.handle().reconcile().block_on().unwrap();
    // Simulates a kill before the roster was written.
    swarm_os::replace_alone(&config, &before).unwrap();
    let report = world.handle().reconcile().block_on().unwrap();
    assert_eq!(report.died.len(), 1);
    assert_eq!(deaths(&world, spawn).len(), 1);
    let task = world.handle().task(&id(1)).block_on().unwrap();
    assert_eq!(task.swarm().attempt, 1);
}

#[test]
fn t4_three_deaths_fail_a_task_and_no_late_owner_writes_until_it_is_released() {
    let world = World::new();
    world.create("deadly", &[]);
    world.create("after it", &[1]);
    let done = || TaskChange {
        status: Some(TaskStatus::Completed),
        ..TaskChange::default()
    };
    let (store, team) = (&world.store, &world.team);
    for attempt in 1..=3 {
        let spawn = world.join("alice");
        let life = world.live("alice", spawn);
        let actor = member(&world, "alice", spawn);
        store.team(team).claim(&id(1), &actor).block_on().unwrap();
        drop(life);
        store.team(team).reconcile().block_on().unwrap();
        // A late write of the dead member arrives: before its name is reused, and after that.
        let before = store.team(team).task(&id(1)).block_on().unwrap();
        assert_eq!(before.owner, None);
        assert_eq!(before.swarm().attempt, attempt);
        assert!(
            before
                .swarm()
                .note
                .is_some_and(|note| note.contains("alice"))
        );
        for removed in [false, true] {
            if removed {
                store
                    .team(team)
                    .remove_member(&name("alice"), Some(&spawn))
                    .block_on()
                    .unwrap();
            }
            for late in [
                store
                    .team(team)
                    .update_task(&id(1), done(), &actor)
                    .block_on()
                    .map(drop),
                store.team(team).claim(&id(1), &actor).block_on().map(drop),
            ] {
                let error = late.unwrap_err();
                assert!(matches!(error, StoreError::SpawnGone { .. }), "{error}");
            }
        }
        assert_eq!(store.team(team).task(&id(1)).block_on().unwrap(), before);
    }
    let list = store.team(team).tasks().block_on().unwrap();
    let task = list.get(id(1)).unwrap();
    assert_eq!(list.state(task), TaskState::Failed);
    assert_eq!(task.status, TaskStatus::Pending);
    let failed = task.swarm().failed.unwrap();
    assert_eq!(failed.attempts, 3);
    assert!(failed.reason.contains("alice"), "{}", failed.reason);
    assert_eq!(list.state(list.get(id(2)).unwrap()), TaskState::Blocked);

    let person = world.person();
    let error = store
        .team(team)
        .claim(&id(1), &person)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::TaskFailed { attempts: 3, .. }));
    assert!(error.hint().unwrap().contains("task release 1"));
    assert_eq!(
        store.team(team).claim_next(&person).block_on().unwrap(),
        None
    );
    let error = store
        .team(team)
        .update_task(&id(1), done(), &person)
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);

    let task = store
        .team(team)
        .release(&id(1), &person)
        .block_on()
        .unwrap();
    assert_eq!((task.swarm().failed, task.swarm().attempt), (None, 0));
    store.team(team).claim(&id(1), &person).block_on().unwrap();
}

#[test]
fn a_member_that_stopped_in_order_did_not_die() {
    let world = World::new();
    let spawn = world.join("alice");
    let life = world.live("alice", spawn);
    world.create("begun", &[]);
    let alice = member(&world, "alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let report = report(spawn, MemberState::Stopped);
    world
        .handle()
        .write_state(&name("alice"), &report)
        .block_on()
        .unwrap();
    drop(life);
    let report = world.handle().reconcile().block_on().unwrap();
    assert!(report.died[0].in_order);
    assert_eq!(report.released, [id(1)]);
    assert!(matches!(
        deaths(&world, spawn)[..],
        [Event::MemberStopped { .. }]
    ));
    let task = world.handle().task(&id(1)).block_on().unwrap();
    assert_eq!(task.swarm().attempt, 0);
}

#[test]
fn t4_a_late_owner_is_fenced_off() {
    let world = World::new();
    let first = world.join("alice");
    world.create("work", &[]);
    let early = member(&world, "alice", first);
    world.handle().claim(&id(1), &early).block_on().unwrap();
    world
        .handle()
        .remove_member(&name("alice"), Some(&first))
        .block_on()
        .unwrap();
    let done = || TaskChange {
        status: Some(TaskStatus::Completed),
        ..TaskChange::default()
    };
    let refuse_all = || {
        let (store, team) = (&world.store, &world.team);
        for outcome in [
            store
                .team(team)
                .update_task(&id(1), done(), &early)
                .block_on()
                .map(drop),
            store.team(team).claim(&id(1), &early).block_on().map(drop),
            store.team(team).claim_next(&early).block_on().map(drop),
            store
                .team(team)
                .release(&id(1), &early)
                .block_on()
                .map(drop),
            store
                .team(team)
                .delete_task(&id(1), &early)
                .block_on()
                .map(drop),
        ] {
            let error = outcome.unwrap_err();
            assert!(matches!(error, StoreError::SpawnGone { .. }), "{error}");
        }
    };
    refuse_all();
    let second = world.join("alice");
    refuse_all();
    let late = member(&world, "alice", second);
    world.handle().claim(&id(1), &late).block_on().unwrap();
    refuse_all();
    world
        .handle()
        .update_task(&id(1), done(), &late)
        .block_on()
        .unwrap();
}

#[test]
fn an_expired_reservation_of_a_dead_spawner_is_rolled_back() {
    let world = World::new();
    let mut mine = new_member("mine");
    mine.reservation.deadline = UnixMs(1);
    let spawn_of_mine = mine.spawn_id;
    world.handle().reserve(mine).block_on().unwrap();
    let mut spawner = Child::start("reserves and dies", &world.root, "orphan");
    spawner.hear_ready();
    assert_eq!(world.unread("orphan").len(), 1);
    assert_eq!(
        world.handle().reconcile().block_on().unwrap(),
        ReconcileReport::default()
    );
    spawner.kill();
    let report = world.handle().reconcile().block_on().unwrap();
    assert_eq!(report.rolled_back.len(), 1);
    assert_eq!(report.rolled_back[0].member, name("orphan"));
    let names = world.handle().config().block_on().unwrap().names();
    assert_eq!(
        names,
        [name("team-lead"), name("mine")],
        "its spawner lives"
    );
    assert!(!world.inbox_path("orphan").exists());
    assert_eq!(
        world.handle().reconcile().block_on().unwrap(),
        ReconcileReport::default()
    );
    world.commit(spawn_of_mine);
}

#[test]
fn a_reservation_that_is_not_over_is_left_alone() {
    let world = World::new();
    let mut new = new_member("alice");
    new.reservation.spawner_start = "1".to_owned();
    let spawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    assert_eq!(
        world.handle().reconcile().block_on().unwrap(),
        ReconcileReport::default()
    );
    world.commit(spawn);
}

#[test]
fn requests_of_the_dead_leave_the_queue() {
    let world = World::new();
    let spawn = world.join("alice");
    let life = world.live("alice", spawn);
    let request = RequestRecord {
        id: RequestId::permission(1),
        from: name("alice"),
        number: None,
        spawn_id: Some(spawn),
        request: RequestKind::Permission {
            tool: "Bash".to_owned(),
            tool_use_id: "t".to_owned(),
            input: serde_json::json!({}),
            digest: "d".to_owned(),
            suggestions: Vec::new(),
        },
        description: "run it".to_owned(),
        why: String::new(),
        asked_at: UnixMs(1),
        deadline: Some(UnixMs(2)),
        state: RequestState::Open,
    };
    world
        .handle()
        .open_request(request.clone())
        .block_on()
        .unwrap();
    drop(life);
    world.handle().reconcile().block_on().unwrap();
    assert!(
        world
            .handle()
            .requests()
            .block_on()
            .unwrap()
            .requests
            .is_empty()
    );
    let error = world
        .handle()
        .answer_request(&request.id, None, Answer::once(), AnsweredBy::default())
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn mail_to_a_dead_member_waits_for_its_successor() {
    let world = World::new();
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    world.handle().reconcile().block_on().unwrap();
    let draft = Draft::new("bob", "for whoever comes");
    world
        .handle()
        .send(&name("alice"), draft)
        .block_on()
        .unwrap();
    world
        .handle()
        .reserve(new_member("alice"))
        .block_on()
        .unwrap();
    assert_eq!(world.unread("alice").len(), 1);
}

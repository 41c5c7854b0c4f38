//! Reconciliation with members and spawners that are gone.

use std::sync::Barrier;
use std::thread;

use swarm_protocol::{
    Answer, AnsweredBy, ErrorKind, Event, MemberState, RequestId, SpawnId, StateReport, TaskState,
    TaskStatus, UnixMs,
};
use swarm_store::{BlockOn as _, Draft, ReconcileReport, StoreError, process};

use crate::requests::request;
use crate::values::{deaths, id, killed, name, new_member};
use crate::world::{World, owner, report, status};

pub(crate) fn the_death_of_a_terminated_process_has_its_reported_reason(world: &World) {
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
    let told = world.texts("team-lead").pop().unwrap();
    assert!(
        told.contains("alice died unexpectedly (ended: its process was told to stop)."),
        "{told}"
    );
}

pub(crate) fn t4_three_deaths_fail_a_task_and_no_late_owner_writes_until_it_is_released(
    world: &World,
) {
    world.create("deadly", &[]);
    world.create("after it", &[1]);
    let done = || status(TaskStatus::Completed);
    for attempt in 1..=3 {
        let spawn = world.join("alice");
        let life = world.live("alice", spawn);
        let actor = world.spawned("alice", spawn);
        world.handle().claim(&id(1), &actor).block_on().unwrap();
        drop(life);
        world.handle().reconcile().block_on().unwrap();
        // A late write of the dead member arrives: before its name is reused, and after that.
        let before = world.handle().task(&id(1)).block_on().unwrap();
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
                world
                    .handle()
                    .remove_member(&name("alice"), Some(&killed(spawn)))
                    .block_on()
                    .unwrap();
            }
            for late in [
                world
                    .handle()
                    .update_task(&id(1), done(), &actor)
                    .block_on()
                    .map(drop),
                world.handle().claim(&id(1), &actor).block_on().map(drop),
            ] {
                let error = late.unwrap_err();
                assert!(matches!(error, StoreError::SpawnGone { .. }), "{error}");
            }
        }
        assert_eq!(world.handle().task(&id(1)).block_on().unwrap(), before);
    }
    let list = world.handle().tasks().block_on().unwrap();
    let task = list.get(id(1)).unwrap();
    assert_eq!(list.state(task), TaskState::Failed);
    assert_eq!(task.status, TaskStatus::Pending);
    let failed = task.swarm().failed.unwrap();
    assert_eq!(failed.attempts, 3);
    assert!(failed.reason.contains("alice"), "{}", failed.reason);
    assert_eq!(list.state(list.get(id(2)).unwrap()), TaskState::Blocked);

    let person = world.person();
    let error = world
        .handle()
        .claim(&id(1), &person)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::TaskFailed { attempts: 3, .. }));
    assert!(error.hint().unwrap().contains("task release 1"));
    assert_eq!(world.handle().claim_next(&person).block_on().unwrap(), None);
    let error = world
        .handle()
        .update_task(&id(1), done(), &person)
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);

    let task = world.handle().release(&id(1), &person).block_on().unwrap();
    assert_eq!((task.swarm().failed, task.swarm().attempt), (None, 0));
    world.handle().claim(&id(1), &person).block_on().unwrap();
}

pub(crate) fn a_member_that_stopped_in_order_did_not_die(world: &World) {
    let spawn = world.join("alice");
    let life = world.live("alice", spawn);
    world.create("begun", &[]);
    let alice = world.spawned("alice", spawn);
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
        deaths(world.events(), spawn)[..],
        [Event::MemberStopped { .. }]
    ));
    let task = world.handle().task(&id(1)).block_on().unwrap();
    assert_eq!(task.swarm().attempt, 0);
}

pub(crate) fn a_member_that_a_person_stops_did_not_die(world: &World) {
    let asked = |by: &str| {
        let event = Event::ShutdownRequested {
            member: name("alice"),
            request: RequestId::shutdown(1, &name("alice")),
            by: by.to_owned(),
            reason: None,
        };
        world.handle().journal(event).block_on().unwrap();
    };
    let refused = || {
        let event = Event::ShutdownRejected {
            member: name("alice"),
            reason: "not done".to_owned(),
        };
        world.handle().journal(event).block_on().unwrap();
    };
    let ways: [(&dyn Fn(), bool); 3] = [
        (&|| asked("person"), true),
        (&|| asked("team-lead"), false),
        (
            &|| {
                asked("person");
                refused();
            },
            false,
        ),
    ];
    for (announce, is_stop) in ways {
        let spawn = world.join("alice");
        let life = world.live("alice", spawn);
        announce();
        drop(life);
        let report = world.handle().reconcile().block_on().unwrap();
        assert_eq!(report.died[0].in_order, is_stop);
        let ends = deaths(world.events(), spawn);
        match &ends[..] {
            [Event::MemberStopped { how, .. }] => assert!(is_stop && how == "killed", "{how}"),
            [Event::MemberDied { .. }] => assert!(!is_stop),
            other => panic!("{other:?}"),
        }
        let (team, stopped) = (world.handle(), killed(spawn));
        let removed = team
            .remove_member(&name("alice"), Some(&stopped))
            .block_on();
        removed.unwrap();
    }
}

pub(crate) fn t4_a_late_owner_is_fenced_off(world: &World) {
    let first = world.join("alice");
    world.create("work", &[]);
    let early = world.spawned("alice", first);
    world.handle().claim(&id(1), &early).block_on().unwrap();
    world
        .handle()
        .remove_member(&name("alice"), Some(&killed(first)))
        .block_on()
        .unwrap();
    let done = || status(TaskStatus::Completed);
    let refuse_all = || {
        for outcome in [
            world
                .handle()
                .update_task(&id(1), done(), &early)
                .block_on()
                .map(drop),
            world.handle().claim(&id(1), &early).block_on().map(drop),
            world.handle().claim_next(&early).block_on().map(drop),
            world.handle().release(&id(1), &early).block_on().map(drop),
            world
                .handle()
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
    let late = world.spawned("alice", second);
    world.handle().claim(&id(1), &late).block_on().unwrap();
    refuse_all();
    world
        .handle()
        .update_task(&id(1), done(), &late)
        .block_on()
        .unwrap();
}

pub(crate) fn a_lead_that_reported_its_end_leaves_the_roster_and_a_crashed_one_stays(
    world: &World,
) {
    let (team, lead) = (world.handle(), name("team-lead"));
    for (last, is_of_this_spawn, stays) in [
        (MemberState::Working, true, true),
        (MemberState::Stopping, true, true),
        (MemberState::Stopped, false, true),
        (MemberState::Stopped, true, false),
    ] {
        let spawn = SpawnId::random();
        let life = world.live("team-lead", spawn);
        let process = process::as_lead(UnixMs(1));
        team.set_lead_process(Some(process)).block_on().unwrap();
        let reporter = if is_of_this_spawn {
            spawn
        } else {
            SpawnId::random()
        };
        let report = report(reporter, last);
        team.write_state(&lead, &report).block_on().unwrap();
        let is_named = || team.config().block_on().unwrap().lead_process.is_some();
        let is_outdated = || team.view().block_on().unwrap().needs_reconcile;
        assert!(!is_outdated());
        team.reconcile().block_on().unwrap();
        assert!(is_named(), "it still runs");
        drop(life);
        assert_eq!(is_outdated(), !stays, "{last:?}");
        team.reconcile().block_on().unwrap();
        assert_eq!(is_named(), stays, "{last:?}");
        assert!(!is_outdated());
    }
}

pub(crate) fn a_reservation_that_is_not_over_is_left_alone(world: &World) {
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

pub(crate) fn requests_of_the_dead_leave_the_queue(world: &World) {
    let spawn = world.join("alice");
    let life = world.live("alice", spawn);
    let mut request = request("perm-1-a", 1);
    request.spawn_id = Some(spawn);
    world
        .handle()
        .open_request(request.clone(), None)
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

pub(crate) fn mail_to_a_dead_member_waits_for_its_successor(world: &World) {
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

pub(crate) fn l6_of_eight_reconciliations_one_reports_the_death_and_releases_the_tasks(
    world: &World,
) {
    let spawn = world.join("alice");
    let lease = world.live("alice", spawn);
    world.create("begun", &[]);
    world.create("assigned", &[]);
    let alice = world.spawned("alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    world.update(2, owner("alice"), &world.person()).unwrap();
    let nothing = world.handle().reconcile().block_on().unwrap();
    assert_eq!(nothing, ReconcileReport::default());
    drop(lease);
    let view = world.handle().view().block_on().unwrap();
    assert!(view.needs_reconcile);
    assert_eq!(view.members[1].state, MemberState::Dead);
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
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].released, [id(1), id(2)]);
    let events = deaths(world.events(), spawn);
    assert!(
        matches!(&events[..], [Event::MemberDied { released, .. }] if released.len() == 2),
        "{events:?}"
    );
    let news = world.texts("team-lead");
    assert!(
        matches!(&news[..], [text] if text.contains("Given back: #1, #2.")),
        "{news:?}"
    );
    let tasks = world.handle().tasks().block_on().unwrap().tasks;
    let attempts: Vec<_> = tasks.iter().map(|task| task.swarm().attempt).collect();
    assert_eq!(attempts, [1, 0], "the second had not been begun");
    for task in &tasks {
        assert_eq!((&task.owner, task.status), (&None, TaskStatus::Pending));
    }
    assert!(!world.handle().view().block_on().unwrap().needs_reconcile);
}

pub(crate) fn an_expired_reservation_of_a_dead_spawner_is_undone(world: &World) {
    let mut mine = new_member("mine");
    mine.reservation.deadline = UnixMs(1);
    let spawn = mine.spawn_id;
    world.handle().reserve(mine).block_on().unwrap();
    let mut orphan = new_member("orphan");
    // No process with this PID started at that time.
    orphan.reservation.spawner_start = "0".to_owned();
    orphan.reservation.deadline = UnixMs(1);
    orphan.prompt = Some(Draft::new("team-lead", "begin"));
    world.handle().reserve(orphan).block_on().unwrap();
    let report = world.handle().reconcile().block_on().unwrap();
    let [undone] = &report.rolled_back[..] else {
        panic!("{report:?}")
    };
    assert_eq!(undone.member, name("orphan"));
    let names = world.handle().config().block_on().unwrap().names();
    assert_eq!(
        names,
        [name("team-lead"), name("mine")],
        "its spawner lives"
    );
    world
        .handle()
        .inbox(&name("orphan"))
        .block_on()
        .unwrap_err();
    let nothing = world.handle().reconcile().block_on().unwrap();
    assert_eq!(nothing, ReconcileReport::default());
    world.commit(spawn);
}

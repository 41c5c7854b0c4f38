//! Who may join, leave and lead.

use std::collections::BTreeSet;
use std::thread;

use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, Event, SessionId, SpawnId, TaskStatus, UnixMs};
use swarm_store::{BlockOn as _, StoreError, StoreLimits, process};

use crate::values::{deaths, id, killed, name, new_member};
use crate::world::{World, owner, status};

pub(crate) fn s12_of_five_spawns_of_one_name_one_gets_the_place(world: &World) {
    let spawn = SpawnId::random();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let racers: Vec<_> = (0..5)
            .map(|_| {
                scope.spawn(|| {
                    let mut new = new_member("alice");
                    new.spawn_id = spawn;
                    world.handle().reserve(new).block_on()
                })
            })
            .collect();
        racers
            .into_iter()
            .map(|racer| racer.join().unwrap())
            .collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(error, StoreError::NameTaken { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    let config = world.handle().config().block_on().unwrap();
    assert_eq!(config.members.len(), 2);
}

pub(crate) fn s14_of_forty_concurrent_spawns_exactly_the_successful_ones_are_members(
    world: &World,
) {
    let names: Vec<_> = (0..40).map(|number| format!("mate{number}")).collect();
    thread::scope(|scope| {
        for (number, called) in names.iter().enumerate() {
            scope.spawn(move || {
                let new = new_member(called);
                let spawn = new.spawn_id;
                world.handle().reserve(new).block_on().unwrap();
                if number % 3 == 2 {
                    world
                        .handle()
                        .abort_spawn(&spawn, "it never said hello")
                        .block_on()
                        .unwrap();
                } else {
                    world.commit(spawn);
                }
            });
        }
    });
    let joined: BTreeSet<_> = (names.iter().enumerate())
        .filter(|(number, _)| number % 3 != 2)
        .map(|(_, called)| name(called))
        .chain([name("team-lead")])
        .collect();
    let config = world.handle().config().block_on().unwrap();
    let known: BTreeSet<_> = config.names().into_iter().collect();
    assert_eq!((known, config.members.len()), (joined, 28));
}

pub(crate) fn a_name_is_refused_while_it_or_its_twin_is_in_use(world: &World) {
    let spawn = world.join("my_agent");
    let _life = world.live("my_agent", spawn);
    for taken in ["my_agent", "My-Agent", "team-lead", "Team_Lead"] {
        let error = world
            .handle()
            .reserve(new_member(taken))
            .block_on()
            .unwrap_err();
        assert!(
            matches!(error, StoreError::NameTaken { .. }),
            "{taken}: {error}"
        );
    }
    world
        .handle()
        .reserve(new_member("my_agent2"))
        .block_on()
        .unwrap();
}

pub(crate) fn the_name_of_a_dead_member_is_taken_while_another_spawns_it(world: &World) {
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    let new = new_member("alice");
    let respawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    let second = world.handle().reserve(new_member("alice")).block_on();
    let error = second.unwrap_err();
    assert!(matches!(error, StoreError::NameTaken { .. }), "{error}");
    assert!(error.to_string().contains("is spawning"), "{error}");
    world.commit(respawn);
}

pub(crate) fn a_removed_member_gives_its_open_tasks_back_without_an_attempt(world: &World) {
    let spawn = world.join("alice");
    for subject in ["done", "begun", "assigned", "of bob"] {
        world.create(subject, &[]);
    }
    let alice = world.spawned("alice", spawn);
    for number in [1, 2] {
        world
            .handle()
            .claim(&id(number), &alice)
            .block_on()
            .unwrap();
    }
    let change = |number, change| world.update(number, change, &alice).unwrap();
    change(1, status(TaskStatus::Completed));
    change(3, owner("alice"));
    change(4, owner("bob"));
    let other = SpawnId::random();
    assert!(
        world
            .handle()
            .remove_member(&name("alice"), Some(&killed(other)))
            .block_on()
            .unwrap()
            .is_none()
    );
    let removed = world
        .handle()
        .remove_member(&name("alice"), Some(&killed(spawn)))
        .block_on()
        .unwrap()
        .unwrap();
    assert_eq!(removed.member.name, name("alice"));
    assert_eq!(removed.released, [id(2), id(3)]);
    let tasks = world.handle().tasks().block_on().unwrap().tasks;
    let owners: Vec<_> = tasks.iter().map(|task| task.owner.as_deref()).collect();
    assert_eq!(owners, [Some("alice"), None, None, Some("bob")]);
    assert_eq!(tasks[1].swarm().attempt, 0);
    assert!(
        world
            .handle()
            .config()
            .block_on()
            .unwrap()
            .member(&name("alice"))
            .is_none()
    );
    assert!(
        world
            .handle()
            .remove_member(&name("alice"), None)
            .block_on()
            .unwrap()
            .is_none()
    );
    assert!(
        world
            .handle()
            .remove_member(&name("team-lead"), None)
            .block_on()
            .unwrap()
            .is_none()
    );
}

pub(crate) fn the_lead_is_taken_over_only_from_the_dead(world: &World) {
    let me = process::as_lead(UnixMs(1));
    world
        .handle()
        .set_lead_process(Some(me.clone()))
        .block_on()
        .unwrap();
    assert_eq!(
        world
            .handle()
            .liveness(&name("team-lead"))
            .block_on()
            .unwrap(),
        Liveness::Alive
    );
    let mut other = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut theirs = me.clone();
    theirs.pid = other.id();
    theirs.proc_start = process::start_time(other.id()).unwrap();
    world
        .handle()
        .set_lead_process(Some(theirs))
        .block_on()
        .unwrap();
    let error = world
        .handle()
        .set_lead_process(Some(me.clone()))
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    other.kill().unwrap();
    other.wait().unwrap();
    world
        .handle()
        .set_lead_process(Some(me))
        .block_on()
        .unwrap();
    world.handle().set_lead_process(None).block_on().unwrap();
}

pub(crate) fn colours_differ_while_there_are_enough(world: &World) {
    let mut colors = BTreeSet::new();
    for number in 0..7 {
        let new = new_member(&format!("m{number}"));
        let member = world.handle().reserve(new).block_on().unwrap();
        colors.insert(member.color.unwrap());
    }
    assert_eq!(colors.len(), 7);
    assert!(!colors.contains("red"), "the lead has red");
}

pub(crate) fn a_respawn_carries_on_colour_and_conversation(world: &World) {
    world.join("first");
    let mut first = new_member("alice");
    let (session, spawn) = (SessionId::random(), first.spawn_id);
    first.entry.session_id = Some(session.to_string());
    world.handle().reserve(first).block_on().unwrap();
    world.commit(spawn);
    drop(world.live("alice", spawn));
    let member = world
        .handle()
        .reserve(new_member("alice"))
        .block_on()
        .unwrap();
    assert_eq!(member.color.as_deref(), Some("green"));
    assert_eq!(member.session(), Some(session));
    let died = world
        .events()
        .into_iter()
        .filter(|event| matches!(event, Event::MemberDied { spawn_id, .. } if *spawn_id == spawn));
    assert_eq!(
        died.count(),
        1,
        "the death is entered before the entry goes"
    );
}

pub(crate) fn a_removed_member_is_remembered_and_its_mail_is_kept(world: &World) {
    let spawn = world.join("alice");
    world.send("alice", "late");
    let alice = name("alice");
    let team = world.handle();
    assert_eq!(team.former_member(&alice).block_on().unwrap(), None);
    team.remove_member(&alice, None)
        .block_on()
        .unwrap()
        .unwrap();
    let former = team.former_member(&alice).block_on().unwrap().unwrap();
    assert_eq!(former.spawn_id(), Some(spawn));
    assert_eq!(world.texts("alice"), ["late"]);
    let draft = swarm_store::Draft::person("hello");
    let error = team.send(&alice, draft).block_on().unwrap_err();
    assert!(
        matches!(error, StoreError::MemberNotFound { .. }),
        "{error}"
    );
}

pub(crate) fn of_two_that_remove_a_member_one_reports_it(world: &World) {
    let spawn = world.join("alice");
    world.create("begun", &[]);
    let alice = world.spawned("alice", spawn);
    world.handle().claim(&id(1), &alice).block_on().unwrap();
    let remove = || {
        let team = world.handle();
        let alice = name("alice");
        team.remove_member(&alice, Some(&killed(spawn)))
            .block_on()
            .unwrap()
    };
    let removed = thread::scope(|scope| {
        let racers = [
            scope.spawn(remove),
            scope.spawn(remove),
            scope.spawn(remove),
        ];
        racers.map(|racer| racer.join().unwrap())
    });
    let removed: Vec<_> = removed.into_iter().flatten().collect();
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0].released, [id(1)]);
    assert_eq!(deaths(world.events(), spawn).len(), 1);
}

pub(crate) fn the_end_of_a_member_is_in_the_journal_once_it_has_left(world: &World) {
    let alice = name("alice");
    for has_died in [false, true] {
        let spawn = world.join("alice");
        let life = world.live("alice", spawn);
        if has_died {
            drop(life);
            world.handle().reconcile().block_on().unwrap();
        }
        let team = world.handle();
        let removed = team.remove_member(&alice, Some(&killed(spawn))).block_on();
        assert!(removed.unwrap().is_some());
        let ends = deaths(world.events(), spawn);
        match &ends[..] {
            [Event::MemberStopped { how, .. }] => assert!(!has_died && how == "killed", "{how}"),
            [Event::MemberDied { .. }] => assert!(has_died),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn beyond_the_limit_of_members_nobody_joins_but_the_dead_do_not_count(world: &World) {
    let team = world.limit(StoreLimits {
        max_members: 1,
        ..StoreLimits::default()
    });
    let spawn = world.join("alice");
    let life = world.live("alice", spawn);
    let before = world.content();
    let error = team.reserve(new_member("bob")).block_on().unwrap_err();
    assert!(
        matches!(error, StoreError::TeamFull { limit: 1, .. }),
        "{error}"
    );
    assert_eq!(world.content(), before);
    drop(life);
    team.reserve(new_member("bob")).block_on().unwrap();
}

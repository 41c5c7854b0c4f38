//! Leases, reports and the state that follows from them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use swarm_os::Liveness;
use swarm_protocol::{MemberState, PauseMark, SpawnId, StateReport, UnixMs};
use swarm_store::{BlockOn as _, StoreError};

use crate::values::{life_record, name};
use crate::world::{World, report};

pub(crate) fn the_state_of_a_member_follows_from_lock_and_report(world: &World) {
    let spawn = world.join("alice");
    let alice = name("alice");
    let state = || world.handle().member_view().block_on().unwrap()[1].state;
    assert_eq!(state(), MemberState::Foreign, "no life file");
    let life = world.live("alice", spawn);
    assert_eq!(state(), MemberState::Starting, "no report");
    let mut report = report(spawn, MemberState::Idle);
    let write = |report: &StateReport| {
        world
            .handle()
            .write_state(&alice, report)
            .block_on()
            .unwrap();
    };
    write(&report);
    assert_eq!(state(), MemberState::Idle);
    report.spawn_id = SpawnId::random();
    write(&report);
    assert_eq!(state(), MemberState::Starting, "a report of another spawn");
    report.spawn_id = spawn;
    report.state = MemberState::Stopped;
    write(&report);
    drop(life);
    assert_eq!(state(), MemberState::Stopped);
    report.state = MemberState::Working;
    write(&report);
    assert_eq!(
        state(),
        MemberState::Dead,
        "its last word was that it works"
    );
    let _other = world.live("alice", SpawnId::random());
    assert_eq!(
        world.handle().liveness(&alice).block_on().unwrap(),
        Liveness::Dead,
        "its name's life file is in the hands of another spawn"
    );
    let lead = world.live("team-lead", SpawnId::random());
    let seen = world.handle().view().block_on().unwrap().members;
    assert!(seen[1].process.is_none());
    assert!(seen[0].process.is_some(), "the lead has no spawn ID");
    drop(lead);
}

pub(crate) fn a_report_that_is_replaced_meanwhile_is_not_missing_in_a_view(world: &World) {
    let spawn = world.join("alice");
    let (alice, working) = (name("alice"), report(spawn, MemberState::Working));
    let write = || {
        let crew = world.handle();
        crew.write_state(&alice, &working).block_on().unwrap();
    };
    write();
    let done = AtomicBool::new(false);
    let is_there = || {
        let views = world.handle().member_view().block_on();
        views.is_ok_and(|views| views[1].report.is_some())
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                write();
            }
        });
        let missing = (0..30).filter(|_| !is_there()).count();
        done.store(true, Ordering::SeqCst);
        assert_eq!(missing, 0);
    });
}

pub(crate) fn a_lead_by_hand_is_not_shown_as_the_process_that_led_before(world: &World) {
    let spawn = SpawnId::random();
    let report = report(spawn, MemberState::Idle);
    let life = world.live("team-lead", spawn);
    world
        .handle()
        .write_state(&name("team-lead"), &report)
        .block_on()
        .unwrap();
    let view = || {
        let mut views = world.handle().member_view().block_on().unwrap();
        views.remove(0)
    };
    assert_eq!(view().state, MemberState::Idle);
    drop(life);
    assert_eq!(view().state, MemberState::Foreign);
    assert_eq!(view().report, None);
}

pub(crate) fn a_lease_is_held_by_one_and_free_again_when_it_is_dropped(world: &World) {
    let spawn = world.join("alice");
    let alice = name("alice");
    let team = world.handle();
    let liveness = || team.liveness(&alice).block_on().unwrap();
    assert_eq!(liveness(), Liveness::Foreign);
    let lease = world.live("alice", spawn);
    assert_eq!(liveness(), Liveness::Alive);
    let error = team
        .take_life(&alice, &life_record(spawn))
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::LeaseHeld { .. }), "{error}");
    let record = team.life_record(&alice).block_on();
    assert_eq!(record.unwrap().spawn_id, spawn);
    assert_eq!(team.lease(&alice).block_on().unwrap(), Liveness::Alive);
    let end = team.lease_end(&alice);
    drop(lease);
    end.block_on().unwrap().unwrap();
    assert_eq!(liveness(), Liveness::Dead);
    drop(world.live("alice", spawn));
}

pub(crate) fn the_holder_of_a_lease_is_on_record_on_its_machine(world: &World) {
    let spawn = world.join("alice");
    let _lease = world.live("alice", spawn);
    let team = world.handle();
    let _held = world.hold();
    assert!(
        team.names_on_disk()
            .block_on()
            .unwrap()
            .contains(&name("alice"))
    );
    let record = team.life_record_here(&name("alice")).block_on();
    assert_eq!(record.unwrap().spawn_id, spawn);
}

pub(crate) fn a_pause_is_kept_for_its_spawn_and_a_second_one_changes_nothing(world: &World) {
    let spawn = world.join("alice");
    let alice = name("alice");
    let team = world.handle();
    let mark = |by: &str, spawn_id| PauseMark {
        spawn_id,
        by: by.to_owned(),
        at: UnixMs(1),
        reason: None,
    };
    let first = mark("one", spawn);
    let set = |mark: Option<&PauseMark>| team.set_paused(&alice, mark).block_on();
    assert_eq!(set(Some(&first)).unwrap(), None);
    assert_eq!(set(Some(&mark("two", spawn))).unwrap(), Some(first.clone()));
    assert_eq!(team.paused(&alice).block_on().unwrap(), Some(first.clone()));
    let error = set(Some(&mark("three", SpawnId::random()))).unwrap_err();
    assert!(matches!(error, StoreError::SpawnGone { .. }), "{error}");
    assert_eq!(set(None).unwrap(), Some(first));
    assert_eq!(team.paused(&alice).block_on().unwrap(), None);
}

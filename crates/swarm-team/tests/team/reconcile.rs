//! A death is reported to the lead once, regardless of which process records it.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use swarm_os::process::pid_space;
use swarm_protocol::{LifeKind, LifeRecord, MemberState, Reservation, SpawnId, UnixMs};
use swarm_store::{BlockOn as _, Lease, ReconcileReport, StoreError, StoreLimits, TeamStore};
use swarm_team::{Incoming, SpawnOrder, reconcile, reserve, stop_work_of_lost};

use crate::world::{World, name};

#[test]
fn an_unexpected_death_is_reported_once_with_the_released_tasks() {
    let world = World::new();
    let (spawn, life) = world.live("bob");
    world.report("bob", spawn, MemberState::Working);
    let bob = world.context("bob", spawn).context;
    world.create("paint", None, &[]);
    world
        .files()
        .claim(&crate::world::id(1), &bob.actor(&world.team))
        .block_on()
        .unwrap();
    assert!(reconcile(&world.files()).unwrap().died.is_empty());
    drop(life);
    let noticed: usize = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| reconcile(&world.files()).unwrap().died.len()))
            .collect();
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .sum()
    });
    assert_eq!(noticed, 1);
    let mail = world.mail("team-lead");
    let [Incoming { entry, frame: None }] = &mail[..] else {
        panic!("{mail:?}");
    };
    for word in ["bob died unexpectedly", "working", "#1"] {
        assert!(entry.text.contains(word), "{}", entry.text);
    }
    assert_eq!(world.task(1).owner, None);
}

#[test]
fn an_end_in_order_is_no_news() {
    let world = World::new();
    let (spawn, life) = world.live("bob");
    world.report("bob", spawn, MemberState::Stopped);
    drop(life);
    let report = reconcile(&world.files()).unwrap();
    assert!(report.died.len() == 1 && report.died[0].in_order);
    assert!(world.unread("team-lead").is_empty());
}

#[test]
fn several_deaths_are_several_messages() {
    let world = World::new();
    for member in ["alice", "bob"] {
        drop(world.live(member).1);
    }
    reconcile(&world.files()).unwrap();
    let texts = world.read("team-lead");
    assert_eq!(texts.len(), 2);
    assert!(
        texts[0].contains("alice") && texts[1].contains("bob"),
        "{texts:?}"
    );
}

/// A reservation with a dead spawner and an expired deadline.
fn lapse(world: &World, spawn_id: SpawnId) {
    let dead = Reservation::new(u32::MAX, "1", UnixMs(1));
    world.reserve_as("bob", spawn_id, dead);
}

/// Leftovers of a dead spawner of `bob`: a process with the mark of the spawn, and an order with
/// keys.
struct Left {
    process: Child,
    order: PathBuf,
}

impl Left {
    fn of(world: &World, spawn_id: SpawnId) -> Self {
        let mut process = Command::new("sh")
            .args(["-c", "echo; exec sleep 600"])
            .env("SWARM_SPAWN_ID", spawn_id.to_string())
            .env_remove("CLAUDE_CONFIG_DIR")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0];
        let mut said = process.stdout.take().unwrap();
        said.read_exact(&mut ready).unwrap();
        let directory = world.files().local_directory(&name("bob"));
        let order = directory.join(SpawnOrder::file_name(spawn_id));
        std::fs::write(&order, "keys").unwrap();
        Self { process, order }
    }

    fn assert_gone(self) {
        let order = self.order.clone();
        assert!(self.has_ended(), "its process was not terminated");
        assert!(!order.exists(), "its keys are left");
    }

    /// Returns whether the process was terminated, and terminates it.
    fn has_ended(mut self) -> bool {
        let ended = self.process.try_wait().unwrap();
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        ended.is_some()
    }
}

#[test]
fn what_a_spawner_that_died_had_begun_is_ended_and_its_keys_are_removed() {
    let world = World::new();
    let spawn_id = SpawnId::random();
    lapse(&world, spawn_id);
    let left = Left::of(&world, spawn_id);
    let report = reconcile(&world.files()).unwrap();
    assert_eq!(report.rolled_back.len(), 1);
    left.assert_gone();
}

#[tokio::test]
async fn reusing_the_name_of_an_expired_spawn_terminates_its_processes() {
    let world = World::new();
    let spawn_id = SpawnId::random();
    lapse(&world, spawn_id);
    let left = Left::of(&world, spawn_id);
    let next = world.new_member("bob", SpawnId::random(), World::reservation());
    let member = reserve(&world.files(), next.clone()).await.unwrap();
    assert_eq!(member.spawn_id(), Some(next.spawn_id));
    left.assert_gone();
}

#[tokio::test]
async fn what_a_lapsed_spawn_began_is_ended_also_where_its_name_is_not_given_away_again() {
    let world = World::new();
    let spawn_id = SpawnId::random();
    lapse(&world, spawn_id);
    let (_alice, _alive) = world.live("alice");
    let left = Left::of(&world, spawn_id);
    let full = world.memory().with_limits(StoreLimits {
        max_members: 1,
        ..StoreLimits::default()
    });
    let next = world.new_member("bob", SpawnId::random(), World::reservation());
    let refused = reserve(&full.team(&world.team), next).await;
    assert!(
        matches!(refused, Err(StoreError::TeamFull { .. })),
        "{refused:?}"
    );
    left.assert_gone();
}

#[tokio::test]
async fn what_a_lapsed_spawn_began_is_ended_also_where_a_death_cannot_be_entered() {
    let world = World::on_files();
    let spawn_id = SpawnId::random();
    lapse(&world, spawn_id);
    drop(world.live("alice").1);
    let left = Left::of(&world, spawn_id);
    // The notice of the death cannot be delivered.
    let inbox = world.file("inboxes/team-lead.json");
    std::fs::create_dir(&inbox).unwrap();
    reconcile(&world.files()).unwrap_err();
    left.assert_gone();
    std::fs::remove_dir(&inbox).unwrap();
    let report = reconcile(&world.files()).unwrap();
    assert_eq!((report.died.len(), report.rolled_back.len()), (1, 0));
}

/// Takes the lease of bob for a process of this machine that was killed.
fn lease_of_killed(world: &World, spawn_id: SpawnId) -> Lease {
    let record = LifeRecord {
        pid_space: pid_space(),
        ..LifeRecord::new(LifeKind::Process, u32::MAX, "1", spawn_id)
    };
    let (files, bob) = (world.files(), name("bob"));
    files.take_life(&bob, &record).block_on().unwrap()
}

#[test]
fn what_a_killed_member_has_started_is_stopped_on_its_machine_whoever_records_its_death() {
    for is_respawned in [false, true] {
        let world = World::new();
        let spawn_id = world.join("bob");
        drop(lease_of_killed(&world, spawn_id));
        let left = Left::of(&world, spawn_id);
        // Another machine, which knows no processes of this one.
        let mut done = ReconcileReport::default();
        world.files().reconcile_into(&mut done).block_on().unwrap();
        assert_eq!(done.died.len(), 1);
        if is_respawned {
            world.reserve("bob");
        }
        stop_work_of_lost(&world.files(), &name("bob")).unwrap();
        assert!(left.has_ended(), "respawned: {is_respawned}");
    }
}

#[test]
fn the_work_of_a_member_that_runs_is_not_stopped() {
    let world = World::new();
    let (spawn_id, life) = world.live("bob");
    let left = Left::of(&world, spawn_id);
    stop_work_of_lost(&world.files(), &name("bob")).unwrap();
    assert!(!left.has_ended());
    drop(life);
}

//! Members that died or were removed.

use swarm_protocol::{
    LEAD_NAME, NewTask, RequestId, RequestKind, RequestRecord, RequestState, SpawnId, TaskStatus,
    UnixMs,
};
use swarm_store::{BlockOn as _, Team, TeamStore as _};

use crate::files::{World, id, name, new_task};
use crate::replay;
use crate::values::{deaths, killed};

/// A request of a spawn.
pub(crate) fn request(id: &str, spawn: SpawnId) -> RequestRecord {
    RequestRecord {
        spawn_id: Some(spawn),
        description: "crates.io".to_owned(),
        ..RequestRecord::open(
            RequestId::new(id),
            name("ann"),
            RequestKind::Sandbox {
                host: "crates.io".to_owned(),
            },
            UnixMs(1),
        )
    }
}

/// A team whose member `ann` has died with a task and an open request.
fn with_dead_member() -> (World, SpawnId) {
    let world = World::new();
    let spawn = world.join("ann");
    let life = world.live("ann", spawn);
    let team = world.handle();
    let task = NewTask {
        owner: Some(name("ann")),
        ..new_task("part", &[])
    };
    team.create_tasks(&[task], &world.person())
        .block_on()
        .unwrap();
    let ann = world.spawned("ann", spawn);
    team.claim(&id(1), &ann).block_on().unwrap();
    let opened = team.open_request(request("perm-1-abcdefg", spawn), None);
    opened.block_on().unwrap();
    drop(life);
    (world, spawn)
}

/// Fails unless the task is free, no request is open, and the lead knows of the task.
fn assert_ended(team: &dyn Team) {
    let task = team.task(&id(1)).block_on().unwrap();
    assert_eq!((task.owner, task.status), (None, TaskStatus::Pending));
    let open = team.requests().block_on().unwrap().requests;
    let open = open
        .iter()
        .filter(|request| request.state == RequestState::Open);
    assert_eq!(open.count(), 0);
    let news = team.take_unread(&name(LEAD_NAME)).block_on().unwrap();
    let texts: Vec<&str> = news.iter().map(|entry| &*entry.text).collect();
    assert!(
        matches!(texts[..], [text] if text.contains("#1")),
        "{texts:?}"
    );
}

#[test]
fn a_recorded_death_survives_a_power_cut_with_all_its_consequences() {
    let (world, spawn) = with_dead_member();
    replay(
        &world,
        || drop(world.handle().reconcile().block_on().unwrap()),
        |store| {
            let team = store.team(&world.team);
            let config = team.config().block_on().unwrap();
            let member = config.member(&name("ann")).unwrap();
            let is_done = member.swarm.as_ref().unwrap().died_at.is_some();
            assert_eq!(member.spawn_id(), Some(spawn));
            if !is_done {
                team.reconcile().block_on().unwrap();
            }
            assert_ended(&*team);
            is_done
        },
    );
}

#[test]
fn a_removed_member_stays_removed_after_a_power_cut() {
    let (world, spawn) = with_dead_member();
    let (ann, end) = (name("ann"), killed(spawn));
    let remove = |team: &dyn Team| {
        let removed = team.remove_member(&ann, Some(&end)).block_on().unwrap();
        assert!(removed.is_some());
    };
    replay(
        &world,
        || remove(&*world.handle()),
        |store| {
            let team = store.team(&world.team);
            let config = team.config().block_on().unwrap();
            let is_done = config.member(&ann).is_none();
            if team.task(&id(1)).block_on().unwrap().owner.is_none() {
                let events = team.events().block_on().unwrap().entries.into_iter();
                let ends = deaths(events.map(|entry| entry.event).collect(), spawn);
                assert_eq!(ends.len(), 1, "recorded before its tasks are free");
            }
            if !is_done {
                remove(&*team);
            }
            assert!(team.former_member(&ann).block_on().unwrap().is_some());
            let is_free = team.task(&id(1)).block_on().unwrap().owner.is_none();
            // Removed before the tasks are free; the next removal frees them.
            is_done && is_free
        },
    );
}

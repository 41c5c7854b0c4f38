//! The processes of a member that cannot be inspected.

use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command};

use swarm_protocol::{LifeKind, LifeRecord, SpawnId};
use swarm_store::process;
use swarm_team::{life_holders, processes_of_members, processes_of_spawns};

use crate::world::{World, name};

/// A process without a mark, like one with an unreadable environment.
fn unmarked() -> Child {
    Command::new("sleep")
        .arg("600")
        .env_clear()
        .spawn()
        .unwrap()
}

#[test]
fn a_member_is_known_by_its_life_lock_and_ended_though_no_mark_can_be_read() {
    let world = World::on_files();
    let (spawn, other) = (SpawnId::random(), SpawnId::random());
    let mut child = unmarked();
    let record = LifeRecord {
        pid_space: swarm_os::process::pid_space(),
        ..LifeRecord::new(
            LifeKind::Process,
            child.id(),
            process::start_time(child.id()).unwrap(),
            spawn,
        )
    };
    let bob = name("bob");
    let (store, team) = (&*world.store, &world.team);
    let meant = |spawn| {
        processes_of_members(&store.team(team), [(&bob, spawn)])
            .processes
            .now()
    };
    let path = world.file("swarm/members/bob/life");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // Computed before the child of an undone spawn has taken its life lock.
    let target = processes_of_spawns(&store.team(team), [spawn]).unwrap();

    std::fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
    assert_eq!(
        meant(spawn),
        [],
        "the lock is not held: a copy, or a dead member"
    );

    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    file.lock().unwrap();
    let say = |record: &LifeRecord| {
        let content = serde_json::to_vec(record).unwrap();
        file.set_len(0).unwrap();
        file.write_all_at(&content, 0).unwrap();
    };
    let elsewhere = "elsewhere#pid:[1]".to_owned();
    say(&LifeRecord {
        pid_space: elsewhere,
        ..record.clone()
    });
    assert_eq!(meant(spawn), [], "its pid means another process here");
    say(&LifeRecord {
        kind: LifeKind::Task,
        ..record.clone()
    });
    assert_eq!(meant(spawn), [], "the process is that of its lead");
    assert_eq!(life_holders(&*store.team(team)).unwrap(), []);
    say(&record);
    assert_eq!(meant(other), [], "a later spawn of the name");
    assert_eq!(
        processes_of_spawns(&store.team(team), [other])
            .unwrap()
            .processes
            .now(),
        []
    );

    let holders = life_holders(&*store.team(team)).unwrap();
    assert_eq!(
        holders
            .iter()
            .map(|one| (&one.name, one.spawn_id))
            .collect::<Vec<_>>(),
        [(&bob, spawn)]
    );
    assert_eq!(
        processes_of_spawns(&store.team(team), [spawn])
            .unwrap()
            .processes
            .now(),
        meant(spawn)
    );
    let grace = std::time::Duration::from_secs(20);
    let ended = swarm_os::process::end_blocking(&target, grace);
    assert_eq!((ended.found, ended.left), (1, 0), "{ended:?}");
    child.wait().unwrap();
}

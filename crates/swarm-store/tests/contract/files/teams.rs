//! Creating and deleting teams.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use swarm_os::OsError;
use swarm_protocol::{ErrorKind, Event, TaskStatus};
use swarm_store::{BlockOn as _, Draft, StoreError, TaskChange, TeamStore};

use crate::files::world::{World, id, name, new_member, new_task, new_team, store_at};
use crate::values::team;

#[test]
fn a_new_team_has_everything_that_its_members_need() {
    let world = World::new();
    let directory = world.file("");
    for (path, mode) in [
        ("", 0o700),
        ("config.json", 0o600),
        ("inboxes", 0o700),
        ("swarm", 0o700),
        ("swarm/locks", 0o700),
        ("swarm/locks/config", 0o600),
        ("swarm/locks/tasks", 0o600),
        ("swarm/locks/inbox-team-lead", 0o600),
        ("swarm/members/team-lead", 0o700),
        ("swarm/requests", 0o700),
        ("swarm/archive", 0o700),
        ("swarm/journal.jsonl", 0o600),
    ] {
        let found = fs::metadata(directory.join(path)).unwrap_or_else(|_| panic!("{path}"));
        assert_eq!(found.permissions().mode() & 0o777, mode, "{path}");
    }
    assert!(world.tasks().is_dir());
    let config: Value =
        serde_json::from_slice(&fs::read(directory.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["leadAgentId"], "team-lead@crew");
    assert_eq!(config["members"][0]["name"], "team-lead");
    assert_eq!(config["members"][0]["tmuxPaneId"], "leader");
    assert_eq!(
        world.store.teams().block_on().unwrap(),
        std::slice::from_ref(&world.team)
    );
    assert_eq!(
        fs::read_dir(world.root.join("teams")).unwrap().count(),
        1,
        "nothing that was built aside is left"
    );
}

#[test]
fn an_existing_team_is_a_conflict_that_tells_its_state() {
    let world = World::with_member("alice");
    let before = world.files();
    let error = world
        .store
        .create_team(new_team("crew"))
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(
        error
            .to_string()
            .contains("led from the shell, 1 teammate (not running)"),
        "{error}"
    );
    assert_eq!(world.files(), before);
}

#[test]
fn a_team_that_would_share_directories_with_another_is_refused() {
    let world = World::new();
    world
        .store
        .create_team(new_team("My_Team"))
        .block_on()
        .unwrap();
    fs::create_dir(world.root.join("tasks/Session-1")).unwrap();
    for twin in ["my-team", "MY_TEAM", "my_team", "session_1"] {
        let error = world
            .store
            .create_team(new_team(twin))
            .block_on()
            .unwrap_err();
        assert!(matches!(error, StoreError::TeamCollides { .. }), "{twin}");
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    world
        .store
        .create_team(new_team("my-team2"))
        .block_on()
        .unwrap();
}

#[test]
fn a_foreign_task_list_is_not_taken_over() {
    let world = World::new();
    let directory = world.root.join("tasks/other");
    fs::create_dir(&directory).unwrap();
    swarm_os::replace_alone(&directory.join("1.json"), b"{}").unwrap();
    let error = world
        .store
        .create_team(new_team("other"))
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::TasksInTheWay(_)));
    assert!(!world.root.join("teams/other").exists());
    fs::remove_file(directory.join("1.json")).unwrap();
    world
        .store
        .create_team(new_team("other"))
        .block_on()
        .unwrap();
}

#[test]
fn l11_of_two_that_make_a_team_at_the_same_instant_one_wins() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_at(directory.path());
    for round in 0..20 {
        let plain = format!("obs-{round}");
        let twin = format!("OBS_{round}");
        let outcomes = thread::scope(|scope| {
            let makers = [&plain, &plain, &twin, &twin].map(|called| {
                let store = &store;
                scope.spawn(move || store.create_team(new_team(called)).block_on())
            });
            makers.map(|maker| maker.join().unwrap())
        });
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        for error in outcomes.into_iter().filter_map(Result::err) {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        }
    }
    assert_eq!(store.teams().block_on().unwrap().len(), 20);
}

#[test]
fn a_deleted_team_leaves_its_tasks_journal_and_notes_in_the_archive() {
    let world = World::new();
    world.create("work", &[]);
    let scratchpad = world.root.join("scratchpad/crew");
    fs::create_dir_all(scratchpad.join("notes")).unwrap();
    let archive = world
        .handle()
        .delete(false, false)
        .block_on()
        .unwrap()
        .unwrap();
    assert!(!world.root.join("teams/crew").exists());
    assert!(!world.root.join("tasks/crew").exists());
    assert_eq!(fs::read_dir(world.root.join("teams")).unwrap().count(), 0);
    assert!(archive.starts_with(world.root.join("swarm/archive")));
    let leftovers: Vec<_> = fs::read_dir(archive.join("tasks"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".lock.lock"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
    assert!(archive.join("tasks/1.json").is_file());
    let journal = fs::read_to_string(archive.join("journal.jsonl")).unwrap();
    assert!(journal.contains("task_created") && journal.contains("team_deleted"));
    assert!(archive.join("scratchpad/notes").is_dir() && !scratchpad.exists());

    fs::create_dir_all(scratchpad.join("notes")).unwrap();
    world
        .store
        .create_team(new_team("crew"))
        .block_on()
        .unwrap();
    assert!(world.handle().tasks().block_on().unwrap().is_empty());
    let purged = world.handle().delete(true, false).block_on().unwrap();
    assert_eq!(purged, None);
    assert!(!scratchpad.exists());
    assert_eq!(fs::read_dir(world.root.join("tasks")).unwrap().count(), 0);
    let archives = fs::read_dir(world.root.join("swarm/archive")).unwrap();
    assert_eq!(archives.count(), 1);
}

#[test]
fn a_team_is_not_deleted_under_its_members_unless_forced() {
    let world = World::new();
    let spawn = world.join("alive");
    let life = world.live("alive", spawn);
    world
        .handle()
        .reserve(new_member("coming"))
        .block_on()
        .unwrap();
    let dead = world.join("dead");
    drop(world.live("dead", dead));
    let error = world.handle().delete(false, false).block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let StoreError::TeamBusy { members, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*members, [name("alive"), name("coming")]);
    assert!(
        !world
            .root
            .join("swarm/archive")
            .read_dir()
            .unwrap()
            .any(|_| true)
    );
    world.handle().config().block_on().unwrap();
    drop(life);
    world.handle().delete(true, true).block_on().unwrap();
    assert!(world.store.teams().block_on().unwrap().is_empty());
}

#[test]
fn who_waits_for_a_lock_of_a_deleted_team_does_not_revive_it() {
    let world = World::with_member("alice");
    let (store, crew) = (&world.store, &world.team);
    world.create("work", &[]);
    let alice = name("alice");
    thread::scope(|scope| {
        let busy: Vec<_> = (0..6)
            .map(|number| {
                let (world, alice) = (&world, &alice);
                scope.spawn(move || {
                    let person = world.person();
                    loop {
                        let outcome = match number % 6 {
                            0 => store
                                .team(crew)
                                .send(alice, Draft::new("bob", "x"))
                                .block_on()
                                .map(drop),
                            1 => store
                                .team(crew)
                                .create_tasks(&[new_task("t", &[])], &person)
                                .block_on()
                                .map(drop),
                            2 => store.team(crew).set_active(alice, true).block_on(),
                            3 => store.team(crew).take_unread(alice).block_on().map(drop),
                            4 => store
                                .update_config(crew, |config| {
                                    config.description = Some(format!("{:?}", config.description));
                                    config.description.as_mut().unwrap().truncate(9);
                                    Ok(())
                                })
                                .map(drop),
                            _ => store
                                .team(crew)
                                .update_task(&id(1), TaskChange::from(TaskStatus::Pending), &person)
                                .block_on()
                                .map(drop),
                        };
                        if let Err(error) = outcome {
                            return error;
                        }
                        // On one processor, a process that retakes a lock immediately may get it
                        // before a woken waiter runs.
                        thread::park_timeout(Duration::from_millis(1));
                    }
                })
            })
            .collect();
        store.team(crew).delete(false, true).block_on().unwrap();
        for error in busy.into_iter().map(|busy| busy.join().unwrap()) {
            // Concurrent operations may find files missing.
            let gone = matches!(&error, StoreError::Fs(OsError::LockLost(_)));
            assert!(gone || error.kind() == ErrorKind::NotFound, "{error}");
        }
    });
    assert!(store.teams().block_on().unwrap().is_empty());
    assert_eq!(fs::read_dir(world.root.join("teams")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(world.root.join("tasks")).unwrap().count(), 0);
}

#[test]
fn an_unknown_team_is_not_found_and_the_known_ones_are_named() {
    let world = World::new();
    let ghost = team("ghost");
    let store = &world.store;
    let person = world.person();
    for outcome in [
        store.team(&ghost).config().block_on().map(drop),
        store.team(&ghost).delete(false, true).block_on().map(drop),
        store
            .team(&ghost)
            .reserve(new_member("a"))
            .block_on()
            .map(drop),
        store.team(&ghost).reconcile().block_on().map(drop),
        store
            .team(&ghost)
            .send(&name("a"), Draft::new("b", "c"))
            .block_on()
            .map(drop),
        store.team(&ghost).inbox(&name("a")).block_on().map(drop),
        store
            .team(&ghost)
            .take_unread(&name("a"))
            .block_on()
            .map(drop),
        store.team(&ghost).ack(&name("a"), &[]).block_on().map(drop),
        store
            .team(&ghost)
            .create_tasks(&[], &person)
            .block_on()
            .map(drop),
        store
            .team(&ghost)
            .create_tasks(&[new_task("t", &[])], &person)
            .block_on()
            .map(drop),
        store.team(&ghost).tasks().block_on().map(drop),
        store.team(&ghost).claim_next(&person).block_on().map(drop),
        store.team(&ghost).hello(&name("a")).block_on().map(drop),
        store.team(&ghost).member_view().block_on().map(drop),
        store.team(&ghost).requests().block_on().map(drop),
        store
            .team(&ghost)
            .close_request(&swarm_protocol::RequestId::new("perm-1"))
            .block_on()
            .map(drop),
        store
            .team(&ghost)
            .journal(Event::TeamDeleted { by: String::new() })
            .block_on(),
    ] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::TeamNotFound { .. }), "{error}");
        assert!(error.hint().unwrap().contains("crew"));
    }
    assert_eq!(fs::read_dir(world.root.join("teams")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(world.root.join("tasks")).unwrap().count(), 1);
    assert_eq!(
        fs::read_dir(world.root.join("swarm/archive")).map_or(0, Iterator::count),
        0
    );
}

/// The life lock of the team's lead, with the record of another process in it.
fn another_leads(world: &World) -> (swarm_os::LifeHolder, u32) {
    let pid = std::os::unix::process::parent_id();
    let record = swarm_protocol::LifeRecord {
        host: "here".to_owned(),
        ..swarm_protocol::LifeRecord::new(
            swarm_protocol::LifeKind::Process,
            pid,
            swarm_store::process::start_time(pid).unwrap(),
            swarm_protocol::SpawnId::random(),
        )
    };
    let path = world.file("swarm/members/team-lead/life");
    let content = serde_json::to_vec(&record).unwrap();
    (swarm_os::LifeHolder::take(&path, &content).unwrap(), pid)
}

#[test]
fn a_team_that_another_process_leads_is_not_deleted_even_by_force() {
    let world = World::new();
    let (life, lead) = another_leads(&world);
    for force in [false, true] {
        let refused = world.handle().delete(false, force).block_on();
        assert!(
            matches!(refused, Err(StoreError::LeadAlive { pid, .. }) if pid == lead),
            "{refused:?}"
        );
        assert!(world.handle().may_delete(force).block_on().is_err());
    }
    let config = world.file("config.json");
    let sound = fs::read(&config).unwrap();
    swarm_os::replace_alone(&config, b"{").unwrap();
    assert!(world.handle().delete(true, true).block_on().is_err());
    swarm_os::replace_alone(&config, &sound).unwrap();
    drop(life);
    world.handle().may_delete(false).block_on().unwrap();
    world.handle().delete(true, false).block_on().unwrap();
}

#[test]
fn a_lead_deletes_its_own_team() {
    let world = World::new();
    let _life = world.live("team-lead", swarm_protocol::SpawnId::random());
    world.handle().delete(true, false).block_on().unwrap();
}

#[test]
fn only_the_lead_that_was_found_lost_is_cleared() {
    let world = World::new();
    let mut lost = swarm_store::process::as_lead(swarm_protocol::UnixMs(1));
    lost.proc_start = "1".to_owned();
    let store = &world.store;
    let named = || {
        store
            .team(&world.team)
            .config()
            .block_on()
            .unwrap()
            .lead_process
    };
    store
        .team(&world.team)
        .set_lead_process(Some(lost.clone()))
        .block_on()
        .unwrap();

    // A takeover takes the life lock first and then writes its name.
    let (life, lead) = another_leads(&world);
    let refused = store
        .team(&world.team)
        .clear_lost_lead(&lost)
        .block_on()
        .unwrap_err();
    assert!(
        matches!(refused, StoreError::LeadAlive { pid, .. } if pid == lead),
        "{refused}"
    );
    assert_eq!(named(), Some(lost.clone()));
    drop(life);

    let mut next = lost.clone();
    next.proc_start = "2".to_owned();
    store
        .team(&world.team)
        .set_lead_process(Some(next.clone()))
        .block_on()
        .unwrap();
    store
        .team(&world.team)
        .clear_lost_lead(&lost)
        .block_on()
        .unwrap_err();
    assert_eq!(named(), Some(next.clone()));
    store
        .team(&world.team)
        .clear_lost_lead(&next)
        .block_on()
        .unwrap();
    assert_eq!(named(), None);
}

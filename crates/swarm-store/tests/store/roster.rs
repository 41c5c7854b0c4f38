//! Reserving, committing, aborting and removing members.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use swarm_os::Liveness;
use swarm_protocol::{
    BackendType, ErrorKind, Event, Hello, MemberState, PaneId, PermissionMode, SessionId, SpawnId,
    SpawnTerms, StateReport, UnixMs, Usage,
};
use swarm_store::{BlockOn as _, Draft, StoreError, TeamStore, process};

use crate::world::{World, id, name, new_member};

/// State that a failed spawn must not change: the roster and all inboxes.
fn shared_files(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let files = world.files().into_iter();
    files
        .filter(|(path, _)| !path.to_string_lossy().contains("/swarm/"))
        .collect()
}

fn hello(spawn_id: SpawnId) -> Hello {
    Hello {
        definition: None,
        spawn_id,
        pid: 4711,
        proc_start: "1".to_owned(),
        pane: None,
        cwd: PathBuf::from("/work"),
        worktree: None,
        model: "m".to_owned(),
        mode: PermissionMode::Default,
        tools: Vec::new(),
        session_id: SessionId::random(),
        version: "0".to_owned(),
    }
}

#[test]
fn a_committed_spawn_is_a_full_member() {
    let world = World::new();
    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    new.mode = Some(PermissionMode::AcceptEdits);
    let spawn = new.spawn_id;
    let reserved = world.handle().reserve(new).block_on().unwrap();
    assert_eq!(reserved.color.as_deref(), Some("blue"));
    assert!(reserved.tmux_pane_id.is_none());
    assert_eq!(
        world.handle().member_view().block_on().unwrap()[1].state,
        MemberState::Starting
    );
    assert_eq!(world.unread("alice")[0].text, "begin");

    let hello = hello(spawn);
    world
        .handle()
        .write_hello(&name("alice"), &hello)
        .block_on()
        .unwrap();
    let socket = Some(PathBuf::from("/tmp/socket"));
    let member = world
        .handle()
        .commit_spawn(&spawn, PaneId::new("%7"), BackendType::Tmux, socket.clone())
        .block_on()
        .unwrap();
    assert_eq!(member.tmux_pane_id, PaneId::new("%7"));
    assert_eq!(member.session(), Some(hello.session_id));
    assert_eq!(member.prompt.as_deref(), Some("begin"));
    let mark = member.swarm.unwrap();
    assert_eq!((mark.reservation, mark.socket), (None, socket));
    assert!(world.events().contains(&Event::SpawnCommitted {
        member: name("alice"),
        spawn_id: spawn,
        pid: 4711,
        terms: Box::new(SpawnTerms {
            agent_type: member.agent_type.clone(),
            model: Some(hello.model.clone()),
            mode: Some(hello.mode.to_string()),
            cwd: Some(hello.cwd.clone()),
            worktree: None,
            backend: Some(BackendType::Tmux),
            pane: Some(PaneId::new("%7")),
        }),
    }));

    let before = world.files();
    world.commit(spawn);
    assert_eq!(world.files(), before, "a second commit changes nothing");
    assert!(
        !world
            .handle()
            .abort_spawn(&spawn, "late")
            .block_on()
            .unwrap()
    );
    assert_eq!(world.files(), before, "a committed spawn is not aborted");
}

#[test]
fn a_name_that_is_held_for_a_spawn_says_by_whom_and_one_whose_spawner_is_dead_for_how_long() {
    let world = World::new();
    let mut held = new_member("bob");
    let refused = |world: &World| {
        let refused = world.handle().reserve(new_member("bob")).block_on();
        refused.unwrap_err().to_string()
    };
    world.handle().reserve(held.clone()).block_on().unwrap();
    let pid = held.reservation.spawner_pid;
    let message = refused(&world);
    assert!(
        message.contains(&format!("process {pid} is spawning")),
        "{message}"
    );
    world
        .handle()
        .abort_spawn(&held.spawn_id, "for the next")
        .block_on()
        .unwrap();
    // No process with this PID started at that time.
    held.reservation.spawner_start = "0".to_owned();
    world.handle().reserve(held.clone()).block_on().unwrap();
    let message = refused(&world);
    assert!(message.contains("exited while spawning"), "{message}");
    assert!(message.contains("s at the latest"), "{message}");
}

#[test]
fn an_aborted_spawn_leaves_roster_and_inbox_as_before() {
    let world = World::with_member("bob");
    let before = shared_files(&world);
    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin"));
    let spawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    assert_ne!(shared_files(&world), before);
    assert!(
        world
            .handle()
            .abort_spawn(&spawn, "no hello")
            .block_on()
            .unwrap()
    );
    assert_eq!(shared_files(&world), before);
    assert!(matches!(
        world.events().last(),
        Some(Event::SpawnAborted { reason, .. }) if reason == "no hello"
    ));
    assert!(
        !world
            .handle()
            .abort_spawn(&spawn, "again")
            .block_on()
            .unwrap()
    );
    let error = world
        .handle()
        .commit_spawn(&spawn, PaneId::new("%1"), BackendType::Tmux, None)
        .block_on()
        .unwrap_err();
    assert!(matches!(error, StoreError::SpawnGone { .. }));
}

#[test]
fn an_aborted_respawn_brings_the_dead_member_and_its_mail_back() {
    let world = World::new();
    let spawn = world.join("alice");
    drop(world.live("alice", spawn));
    let send = |text| {
        let draft = Draft::new("bob", text);
        world
            .handle()
            .send(&name("alice"), draft)
            .block_on()
            .unwrap();
    };
    send("waits");
    world.handle().reconcile().block_on().unwrap();
    let before = shared_files(&world);
    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin again"));
    let respawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    assert_eq!(world.unread("alice").len(), 2);
    world
        .handle()
        .abort_spawn(&respawn, "no hello")
        .block_on()
        .unwrap();
    assert_eq!(shared_files(&world), before);

    let mut new = new_member("alice");
    new.prompt = Some(Draft::new("team-lead", "begin again"));
    let respawn = new.spawn_id;
    world.handle().reserve(new).block_on().unwrap();
    send("came meanwhile");
    world
        .handle()
        .abort_spawn(&respawn, "no hello")
        .block_on()
        .unwrap();
    let texts: Vec<_> = world.unread("alice").into_iter().map(|e| e.text).collect();
    assert_eq!(texts, ["waits", "came meanwhile"], "mail of others is kept");
}

#[test]
fn a_respawn_carries_on_colour_and_conversation() {
    let world = World::new();
    world.join("first");
    let spawn = world.join("alice");
    world
        .store
        .update_config(&world.team, |config| {
            config.member_mut(&name("alice")).unwrap().session_id = Some("the session".to_owned());
            Ok(())
        })
        .unwrap();
    drop(world.live("alice", spawn));
    let member = world
        .handle()
        .reserve(new_member("alice"))
        .block_on()
        .unwrap();
    assert_eq!(member.color.as_deref(), Some("green"));
    assert_eq!(member.session_id.as_deref(), Some("the session"));
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

#[test]
fn s12_of_five_spawns_of_one_name_one_gets_the_place() {
    let world = World::new();
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

#[test]
fn s14_of_forty_concurrent_spawns_exactly_the_successful_ones_are_members() {
    let world = World::new();
    let names: Vec<_> = (0..40).map(|number| format!("mate{number}")).collect();
    thread::scope(|scope| {
        for (number, called) in names.iter().enumerate() {
            let world = &world;
            scope.spawn(move || {
                let (new, store) = (new_member(called), &world.store);
                let spawn = new.spawn_id;
                store.team(&world.team).reserve(new).block_on().unwrap();
                if number % 3 == 2 {
                    store
                        .team(&world.team)
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

#[test]
fn a_name_is_refused_while_it_or_its_twin_is_in_use() {
    let world = World::new();
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

#[test]
fn the_name_of_a_dead_member_is_taken_while_another_spawns_it() {
    let world = World::new();
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

#[test]
fn a_removed_member_gives_its_open_tasks_back_without_an_attempt() {
    let world = World::new();
    let spawn = world.join("alice");
    for subject in ["done", "begun", "assigned", "of bob"] {
        world.create(subject, &[]);
    }
    let alice = swarm_store::Actor::member(&world.team, name("alice"), Some(spawn));
    for number in [1, 2] {
        world
            .handle()
            .claim(&id(number), &alice)
            .block_on()
            .unwrap();
    }
    let change = |number, change| {
        world
            .handle()
            .update_task(&id(number), change, &alice)
            .block_on()
            .unwrap()
    };
    change(
        1,
        swarm_store::TaskChange {
            status: Some(swarm_protocol::TaskStatus::Completed),
            ..Default::default()
        },
    );
    change(
        3,
        swarm_store::TaskChange {
            owner: Some(name("alice")),
            ..Default::default()
        },
    );
    change(
        4,
        swarm_store::TaskChange {
            owner: Some(name("bob")),
            ..Default::default()
        },
    );
    let other = SpawnId::random();
    let (store, team) = (&world.store, &world.team);
    assert!(
        store
            .team(team)
            .remove_member(&name("alice"), Some(&other))
            .block_on()
            .unwrap()
            .is_none()
    );
    let removed = store
        .team(team)
        .remove_member(&name("alice"), Some(&spawn))
        .block_on()
        .unwrap()
        .unwrap();
    assert_eq!(removed.member.name, name("alice"));
    assert_eq!(removed.released, [id(2), id(3)]);
    let tasks = store.team(team).tasks().block_on().unwrap().tasks;
    let owners: Vec<_> = tasks.iter().map(|task| task.owner.as_deref()).collect();
    assert_eq!(owners, [Some("alice"), None, None, Some("bob")]);
    assert_eq!(tasks[1].swarm().attempt, 0);
    assert!(
        store
            .team(team)
            .config()
            .block_on()
            .unwrap()
            .member(&name("alice"))
            .is_none()
    );
    assert!(
        store
            .team(team)
            .remove_member(&name("alice"), None)
            .block_on()
            .unwrap()
            .is_none()
    );
    assert!(
        store
            .team(team)
            .remove_member(&name("team-lead"), None)
            .block_on()
            .unwrap()
            .is_none()
    );
}

#[test]
fn fields_of_others_survive_every_change_of_the_roster() {
    let world = World::with_member("alice");
    let path = world.handle().team_directory().join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["hiddenPaneIds"] = json!(["%3"]);
    config["members"][0]["novel"] = json!({"a": [1, 2.5]});
    config["members"].as_array_mut().unwrap().push(json!({
        "agentId": "foreign@crew", "name": "foreign", "joinedAt": 5, "tmuxPaneId": "", "x": null,
    }));
    swarm_os::replace_alone(&path, config.to_string().as_bytes()).unwrap();
    world
        .handle()
        .set_active(&name("alice"), false)
        .block_on()
        .unwrap();
    world.join("bob");
    let after: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(after["hiddenPaneIds"], config["hiddenPaneIds"]);
    assert_eq!(after["members"][0], config["members"][0]);
    assert_eq!(after["members"][1]["isActive"], false);
    assert_eq!(after["members"][2], config["members"][2]);
    // A member added by another program can receive messages.
    let draft = Draft::new("team-lead", "hello");
    world
        .handle()
        .send(&name("foreign"), draft)
        .block_on()
        .unwrap();
    let views = world.handle().member_view().block_on().unwrap();
    assert_eq!(views[2].state, MemberState::Foreign);
    assert_eq!(views[2].unread, Some(1));
}

#[test]
fn a_damaged_roster_is_reported_and_never_written_over() {
    let world = World::with_member("alice");
    let path = world.handle().team_directory().join("config.json");
    for damaged in ["", "{\"name\":\"crew\",\"mem", "[]"] {
        swarm_os::replace_alone(&path, damaged.as_bytes()).unwrap();
        let store = &world.store;
        for error in [
            store.team(&world.team).config().block_on().unwrap_err(),
            store
                .team(&world.team)
                .reserve(new_member("bob"))
                .block_on()
                .unwrap_err(),
            store
                .team(&world.team)
                .set_active(&name("alice"), true)
                .block_on()
                .unwrap_err(),
            store.team(&world.team).reconcile().block_on().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Damaged);
            assert!(error.to_string().contains("config.json"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "Claude Code writes its roster in place"
)]
fn a_roster_that_another_program_rewrites_in_place_is_never_damaged() {
    let world = World::with_member("alice");
    let path = world.handle().team_directory().join("config.json");
    let lock = path.with_extension("json.lock");
    let text = fs::read_to_string(&path).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                if fs::create_dir(&lock).is_err() {
                    thread::yield_now();
                    continue;
                }
                // As Claude Code does: without a second file.
                fs::write(&path, &text[..text.len() / 2]).unwrap();
                fs::write(&path, &text).unwrap();
                fs::remove_dir(&lock).unwrap();
                thread::yield_now();
            }
        });
        let reads: Vec<_> = (0..300)
            .map(|_| world.handle().config().block_on().map(drop))
            .collect();
        done.store(true, Ordering::SeqCst);
        let failed = reads.into_iter().find_map(Result::err);
        assert!(failed.is_none(), "{failed:?}");
    });
}

#[test]
fn the_state_of_a_member_follows_from_lock_and_report() {
    let world = World::new();
    let spawn = world.join("alice");
    let alice = name("alice");
    let state = || world.handle().member_view().block_on().unwrap()[1].state;
    assert_eq!(state(), MemberState::Foreign, "no life file");
    let life = world.live("alice", spawn);
    assert_eq!(state(), MemberState::Starting, "no report");
    let mut report = StateReport {
        spawn_id: spawn,
        state: MemberState::Idle,
        since: UnixMs(1),
        detail: None,
        task: None,
        turns: 0,
        progress: 0,
        usage: Usage::default(),
        context: None,
        commands: Vec::new(),
    };
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
}

#[test]
fn a_lead_by_hand_is_not_shown_as_the_process_that_led_before() {
    let world = World::new();
    let spawn = SpawnId::random();
    let report = StateReport {
        spawn_id: spawn,
        state: MemberState::Idle,
        since: UnixMs(1),
        detail: None,
        task: None,
        turns: 0,
        progress: 0,
        usage: Usage::default(),
        context: None,
        commands: Vec::new(),
    };
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

#[test]
fn the_lead_is_taken_over_only_from_the_dead() {
    let world = World::new();
    let store = &world.store;
    let me = process::as_lead(UnixMs(1));
    store
        .team(&world.team)
        .set_lead_process(Some(me.clone()))
        .block_on()
        .unwrap();
    assert_eq!(
        store
            .team(&world.team)
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
    store
        .team(&world.team)
        .set_lead_process(Some(theirs))
        .block_on()
        .unwrap();
    let error = store
        .team(&world.team)
        .set_lead_process(Some(me.clone()))
        .block_on()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    other.kill().unwrap();
    other.wait().unwrap();
    store
        .team(&world.team)
        .set_lead_process(Some(me))
        .block_on()
        .unwrap();
    store
        .team(&world.team)
        .set_lead_process(None)
        .block_on()
        .unwrap();
}

#[test]
fn colours_differ_while_there_are_enough() {
    let world = World::new();
    let mut colors = BTreeSet::new();
    for number in 0..7 {
        let new = new_member(&format!("m{number}"));
        let member = world.handle().reserve(new).block_on().unwrap();
        colors.insert(member.color.unwrap());
    }
    assert_eq!(colors.len(), 7);
    assert!(!colors.contains("red"), "the lead has red");
}

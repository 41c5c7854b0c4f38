//! The roster in a file that other programs also write.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};
use swarm_protocol::{ErrorKind, MemberState};
use swarm_store::{BlockOn as _, Draft, TeamStore};

use crate::files::world::{World, name, new_member};

#[test]
fn fields_of_others_survive_every_change_of_the_roster() {
    let world = World::with_member("alice");
    let path = world.file("config.json");
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
    let path = world.file("config.json");
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
    let path = world.file("config.json");
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
#[expect(
    clippy::disallowed_methods,
    reason = "Claude Code writes over its files"
)]
fn the_end_of_a_longer_roster_that_was_not_cut_off_yet_is_ignored() {
    let world = World::with_member("alice");
    let path = world.file("config.json");
    let text = fs::read_to_string(&path).unwrap();
    // Claude Code writes over the file and then truncates it.
    fs::write(&path, format!("{text}\n  ]\n}}")).unwrap();
    let config = world.handle().config().block_on().unwrap();
    assert_eq!(config.members.len(), 2);
    fs::write(&path, &text[..text.len() - 1]).unwrap();
    let error = world.handle().config().block_on().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
}

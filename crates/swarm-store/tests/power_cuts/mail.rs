//! Messages.

use std::cell::RefCell;

use serde_json::json;
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use crate::disk::replay;
use crate::files::{World, name};

#[test]
fn a_sent_message_survives_a_power_cut_and_half_of_one_is_never_read() {
    let world = World::with_member("ann");
    let send = |text: &str| {
        let draft = Draft::new("team-lead", text);
        let files = world.store.team(&world.team);
        files.send(&name("ann"), draft).block_on().unwrap();
    };
    send("first");
    replay(
        &world,
        || send("second"),
        |store| {
            let unread = store
                .team(&world.team)
                .take_unread(&name("ann"))
                .block_on()
                .unwrap();
            let texts: Vec<&str> = unread.iter().map(|entry| &*entry.text).collect();
            assert!(
                matches!(texts[..], ["first"] | ["first", "second"]),
                "{texts:?}"
            );
            texts.len() == 2
        },
    );
}

#[test]
fn the_id_of_a_message_of_another_program_survives_a_power_cut_once_it_was_read() {
    let world = World::with_member("ann");
    let entry = json!([{"from": "ivy", "text": "hi", "timestamp": "2026-11-22T10:15:00.000Z", "read": false}]);
    swarm_os::replace_alone(&world.inbox_path("ann"), entry.to_string().as_bytes()).unwrap();
    // The transcript of the reader contains it.
    let given = RefCell::new(None);
    replay(
        &world,
        || *given.borrow_mut() = world.unread("ann").remove(0).msg_id,
        |store| {
            let team = store.team(&world.team);
            let inbox = team.inbox(&name("ann")).block_on().unwrap();
            inbox.entries[0].msg_id == *given.borrow()
        },
    );
}

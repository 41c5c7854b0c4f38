//! Messages.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::json;
use swarm_protocol::MessageId;
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use crate::files::{World, name};
use crate::replay;

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

#[test]
fn a_message_to_several_members_survives_a_power_cut() {
    let world = World::with_member("ann");
    world.join("bob");
    let letters = ["ann", "bob"].map(|to| (name(to), Draft::new("team-lead", "hello")));
    replay(
        &world,
        || {
            let posted = world.handle().post_all(&letters).block_on().unwrap();
            assert!(posted.iter().all(Result::is_ok));
        },
        |store| {
            let team = store.team(&world.team);
            letters.iter().all(|(to, _)| {
                let inbox = team.inbox(to).block_on().unwrap();
                inbox.entries.len() == 1
            })
        },
    );
}

#[test]
fn mail_that_is_moved_to_the_archive_is_in_one_of_the_files_after_a_power_cut() {
    let world = World::with_member("ann");
    let sent: BTreeSet<MessageId> = (0..60).map(|_| world.send("ann", "old")).collect();
    let ids: Vec<MessageId> = sent.iter().cloned().collect();
    let ann = name("ann");
    replay(
        &world,
        || {
            world.handle().ack(&ann, &ids).block_on().unwrap();
            // Read marks are written with the next message.
            world.send("ann", "new");
        },
        |store| {
            let team = store.team(&world.team);
            let mut entries = team.archived_mail(&ann).block_on().unwrap();
            let inbox = team.inbox(&ann).block_on().unwrap();
            let is_done = inbox.entries.iter().any(|entry| entry.text == "new");
            entries.extend(inbox.entries);
            let found: BTreeSet<MessageId> = entries
                .into_iter()
                .filter_map(|entry| entry.msg_id)
                .collect();
            assert!(sent.is_subset(&found), "{found:?}");
            is_done
        },
    );
}

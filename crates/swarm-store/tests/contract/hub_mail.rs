//! Mail on a hub: what a reader is told, what it moves into its record, and what a sender asks for.

use std::sync::Arc;

use async_nats::jetstream;
use async_nats::jetstream::stream::Stream;
use futures::TryStreamExt as _;
use serde_json::json;
use swarm_os::DirectoryWatcher;
use swarm_protocol::MessageId;
use swarm_store::{BlockOn as _, Draft, Team, Topic};
use tokio::runtime::Builder;

use crate::hub::{has_no_server, publish, purge, revision, subjects, value, wait_for};
use crate::hub_scene::{Scene, crew, join};
use crate::values::name;

/// Returns the consumers of the team's stream.
fn consumers(url: &str) -> Vec<String> {
    on_stream(url, async |stream| {
        stream.consumer_names().try_collect().await.unwrap()
    })
}

fn on_stream<T>(url: &str, work: impl AsyncFnOnce(Stream<()>) -> T) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let context = jetstream::new(client);
        work(context.get_stream_no_info("swarm-crew").await.unwrap()).await
    })
}

/// Two processes of a team with alice: one that sends to her and one that reads. Returns `None` if no
/// server is installed, and says so.
fn sender_and_reader() -> Option<(Scene, [Arc<dyn Team>; 2])> {
    if has_no_server() {
        return None;
    }
    let scene = Scene::new();
    let both = [crew(&scene.here), crew(&scene.here)];
    join(&*both[0], "alice");
    Some((scene, both))
}

fn send_to_alice(sender: &dyn Team, text: &str) -> MessageId {
    let alice = name("alice");
    let sent = sender.send(&alice, Draft::person(text));
    sent.block_on().unwrap()
}

#[test]
fn messages_that_a_killed_process_has_left_behind_the_record_are_removed_by_their_reader() {
    let Some((scene, [sender, reader])) = sender_and_reader() else {
        return;
    };
    let (url, alice) = (scene.server.url(), name("alice"));
    let send = |text: &str| send_to_alice(&*sender, text);
    let is_empty = || subjects(&url, "swarm.crew.log.inbox.alice.*").is_empty();
    sender.ack(&alice, &[send("one")]).block_on().unwrap();
    wait_for(|| is_empty().then_some(()));
    send("two");
    assert!(!is_empty());
    let mut inbox = value(&url, "inbox.alice");
    inbox["next"] = json!(revision(&url, "inbox.alice") + 1000);
    let inbox = json!({"value": inbox}).to_string();
    publish(&url, "swarm.crew.record.inbox.alice", &inbox);
    let _watched = reader.watch(&DirectoryWatcher::new(), &Topic::Mail(alice.clone()));
    wait_for(|| {
        let unread = reader.take_unread(&alice).block_on().unwrap();
        assert!(unread.is_empty(), "{unread:?}");
        is_empty().then_some(())
    });
}

#[test]
fn messages_leave_the_log_when_the_record_of_the_inbox_has_them() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let crew = crew(&scene.here);
    join(&*crew, "alice");
    let alice = name("alice");
    let send = |number: usize| {
        let draft = Draft::person(number.to_string());
        crew.send(&alice, draft).block_on().unwrap()
    };
    let stored = |kind: &str| subjects(&scene.server.url(), &format!("swarm.crew.{kind}")).len();
    let ids: Vec<_> = (0..20).map(send).collect();
    assert_eq!(stored("log.inbox.alice.*"), 20);
    assert_eq!(stored("record.inbox.alice"), 0);
    let read = crew.ack(&alice, &ids[..5]).block_on().unwrap();
    assert_eq!(read, ids[..5]);
    wait_for(|| (stored("log.inbox.alice.*") == 0).then_some(()));
    let unread = |crew: &dyn Team| crew.take_unread(&alice).block_on().unwrap().len();
    let there = scene.other();
    assert_eq!(unread(&*crate::hub_scene::crew(&there)), 15);
    send(20);
    assert_eq!(stored("log.inbox.alice.*"), 1);
    assert_eq!(unread(&*crate::hub_scene::crew(&there)), 16);
}

#[test]
fn messages_are_moved_into_the_record_without_being_read_again() {
    // More than an acknowledgement leaves in the log.
    const MESSAGES: usize = 70;
    let Some((scene, [sender, reader])) = sender_and_reader() else {
        return;
    };
    let (url, alice) = (scene.server.url(), name("alice"));
    let send = |number: usize| send_to_alice(&*sender, &number.to_string());
    let _watched = reader.watch(&DirectoryWatcher::new(), &Topic::Mail(alice.clone()));
    let unread = || reader.take_unread(&alice).block_on().unwrap();
    wait_for(|| (consumers(&url).len() == 1).then_some(()));
    let ids: Vec<_> = (0..MESSAGES).map(send).collect();
    wait_for(|| (unread().len() == MESSAGES).then_some(()));
    purge(&url, "swarm.crew.log.inbox.alice.*");
    let acked = reader.delivered(&alice, &ids).block_on().unwrap();
    assert_eq!(acked, ids);
}

#[test]
fn a_reader_whose_consumer_is_gone_is_told_of_later_messages() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let crew = crew(&scene.here);
    let (url, alice) = (scene.server.url(), name("alice"));
    join(&*crew, "alice");
    let _watched = crew.watch(&DirectoryWatcher::new(), &Topic::Mail(alice.clone()));
    let of = wait_for(|| consumers(&url).pop());
    on_stream(&url, async |stream| {
        stream.delete_consumer(&of).await.unwrap()
    });
    let sent = crew.send(&alice, Draft::person("hello")).block_on();
    sent.unwrap();
    wait_for(|| {
        let unread = crew.take_unread(&alice).block_on().unwrap();
        (unread.len() == 1).then_some(())
    });
    wait_for(|| consumers(&url).pop());
}

#[test]
fn the_first_message_of_a_process_reads_no_messages_of_an_inbox_with_room() {
    if has_no_server() {
        return;
    }
    let scene = Scene::new();
    let (link, there) = scene.linked();
    let (near, far) = (crew(&scene.here), crew(&there));
    let alice = name("alice");
    join(&*near, "alice");
    let send = |crew: &dyn Team| crew.send(&alice, Draft::person("hello")).block_on();
    send(&*near).unwrap();
    link.mute_after("swarm.crew.log.inbox.alice.*");
    send(&*far).unwrap();
    assert!(!link.has_lost());
    assert_eq!(near.take_unread(&alice).block_on().unwrap().len(), 2);
}

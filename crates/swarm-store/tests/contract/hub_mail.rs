//! Mail on a hub: what a reader is told, what its record has, and what a sender asks for.

use std::sync::Arc;

use async_nats::jetstream;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::stream::Stream;
use futures::TryStreamExt as _;
use serde_json::json;
use swarm_hubkit::Link;
use swarm_os::DirectoryWatcher;
use swarm_protocol::MessageId;
use swarm_store::{BlockOn as _, Draft, HubStore, Team, Topic};
use tokio::runtime::Builder;

use crate::hub::{publish, purge, subjects, value, wait_for};
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
    let scene = Scene::new()?;
    let both = [crew(&scene.here), crew(&scene.here)];
    join(&*both[0], "alice");
    Some((scene, both))
}

/// Handles of a team with alice on two machines, the second one behind a link.
struct Linked {
    near: Arc<dyn Team>,
    far: Arc<dyn Team>,
    link: Link,
    _there: HubStore,
    _scene: Scene,
}

/// Returns `None` if no server is installed, and says so.
fn linked() -> Option<Linked> {
    let scene = Scene::new()?;
    let (link, there) = scene.linked();
    let near = crew(&scene.here);
    join(&*near, "alice");
    Some(Linked {
        near,
        far: crew(&there),
        link,
        _there: there,
        _scene: scene,
    })
}

fn send_to_alice(sender: &dyn Team, text: &str) -> MessageId {
    let alice = name("alice");
    let sent = sender.send(&alice, Draft::person(text));
    sent.block_on().unwrap()
}

#[test]
fn messages_stay_in_the_log_and_are_not_copied_when_they_are_read() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let crew = crew(&scene.here);
    join(&*crew, "alice");
    let (url, alice) = (scene.server.url(), name("alice"));
    let send = |number: usize| {
        let draft = Draft::person(number.to_string());
        crew.send(&alice, draft).block_on().unwrap()
    };
    let stored = |kind: &str| subjects(&url, &format!("swarm.crew.{kind}")).len();
    let unread = |crew: &dyn Team| crew.take_unread(&alice).block_on().unwrap().len();
    let ids: Vec<_> = (0..20).map(send).collect();
    assert_eq!(stored("record.inbox.alice"), 0);
    crew.ack(&alice, &ids[..5]).block_on().unwrap();
    let there = scene.other();
    assert_eq!(unread(&*crate::hub_scene::crew(&there)), 15);
    crew.ack(&alice, &ids[5..]).block_on().unwrap();
    assert_eq!(unread(&*crate::hub_scene::crew(&there)), 0);
    assert_eq!(stored("log.inbox.alice.*"), 20);
    assert_eq!(stored("log.archive.>"), 0);
    assert_eq!(value(&url, "inbox.alice")["entries"], json!([]));
}

#[test]
fn messages_are_acknowledged_without_being_read_again() {
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
    let kept = reader.inbox(&alice).block_on().unwrap().entries;
    assert!(kept.iter().all(|entry| entry.read));
    let kept: Vec<_> = kept.into_iter().filter_map(|entry| entry.msg_id).collect();
    assert_eq!(kept, ids[MESSAGES - 50..]);
}

#[test]
fn a_reader_that_starts_to_watch_reads_no_messages_that_were_read_before() {
    let Some(linked) = linked() else {
        return;
    };
    let (near, far, link) = (&*linked.near, &*linked.far, &linked.link);
    let alice = name("alice");
    let send = |text: &str| send_to_alice(near, text);
    let read: Vec<_> = (0..5).map(|_| send("an old message")).collect();
    near.ack(&alice, &read).block_on().unwrap();
    send("a new message");
    link.mute_after("\"seq\":1,\"next_by_subj\":\"swarm.crew.log.inbox.alice.*\"");
    let _watched = far.watch(&DirectoryWatcher::new(), &Topic::Mail(alice.clone()));
    let unread = far.take_unread(&alice).block_on().unwrap();
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].text, "a new message");
    assert!(!link.has_lost());
}

#[test]
fn unread_messages_are_counted_without_reading_old_ones() {
    // More than are read again by each view.
    const MESSAGES: usize = 260;
    let Some(scene) = Scene::new() else {
        return;
    };
    let crew = crew(&scene.here);
    let (url, alice) = (scene.server.url(), name("alice"));
    for member in ["alice", "bob"] {
        join(&*crew, member);
    }
    let send = |to: &str| crew.send(&name(to), Draft::person("hello")).block_on();
    let ids: Vec<_> = (0..MESSAGES).map(|_| send("alice").unwrap()).collect();
    send("bob").unwrap();
    crew.ack(&alice, &ids[10..]).block_on().unwrap();
    let unread = || {
        let views = crew.member_view().block_on().unwrap();
        let of = |member: &str| {
            let its = views
                .iter()
                .find(|view| view.member.name.as_str() == member);
            its.unwrap().unread
        };
        [of("alice"), of("bob")]
    };
    assert_eq!(unread(), [Some(10), Some(1)]);
    purge(&url, "swarm.crew.log.inbox.>");
    assert_eq!(unread(), [Some(10), Some(1)], "the index has them");
    send("bob").unwrap();
    assert_eq!(unread(), [Some(10), Some(2)]);
    publish(
        &url,
        "swarm.crew.record.inbox._unread",
        "{\"value\":{\"end\":0,\"unread\":{}}}",
    );
    assert_eq!(
        unread(),
        [Some(10), Some(1)],
        "those in the record, and in the log"
    );
}

#[test]
fn the_first_message_replaces_a_consumer_by_one_that_begins_with_it() {
    let Some((scene, [sender, reader])) = sender_and_reader() else {
        return;
    };
    let (url, alice) = (scene.server.url(), name("alice"));
    let _watched = reader.watch(&DirectoryWatcher::new(), &Topic::Mail(alice.clone()));
    wait_for(|| (consumers(&url).len() == 1).then_some(()));
    let first = send_to_alice(&*sender, "the first");
    let log = "swarm.crew.log.inbox.alice.*";
    let begins_with_it = || {
        on_stream(&url, async |stream| {
            let at = stream.get_first_raw_message_by_subject(log, 1).await;
            let start_sequence = at.unwrap().sequence;
            let begins = DeliverPolicy::ByStartSequence { start_sequence };
            let all: Vec<_> = stream.consumers().try_collect().await.unwrap();
            all.iter().any(|one| one.config.deliver_policy == begins)
        })
    };
    wait_for(|| begins_with_it().then_some(()));
    let second = send_to_alice(&*sender, "the second");
    let unread = || reader.take_unread(&alice).block_on().unwrap();
    let ids = wait_for(|| Some(unread()).filter(|unread| unread.len() == 2));
    let ids: Vec<_> = ids.into_iter().filter_map(|entry| entry.msg_id).collect();
    assert_eq!(ids, [first, second]);
}

#[test]
fn a_reader_whose_consumer_is_gone_is_told_of_later_messages() {
    let Some(scene) = Scene::new() else {
        return;
    };
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
    let Some(linked) = linked() else {
        return;
    };
    let (near, far, link) = (&*linked.near, &*linked.far, &linked.link);
    let alice = name("alice");
    let send = |crew: &dyn Team| crew.send(&alice, Draft::person("hello")).block_on();
    send(near).unwrap();
    link.mute_after("swarm.crew.log.inbox.alice.*");
    send(far).unwrap();
    assert!(!link.has_lost());
    assert_eq!(near.take_unread(&alice).block_on().unwrap().len(), 2);
}

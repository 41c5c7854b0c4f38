//! A restarted member loses nothing and repeats nothing.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::MemberState;

use super::world::{Lookout, World, until};
use swarm_testkit::{FakeModel, Reply, heard, say};

/// A member crashes after it has read its prompt and asked its model.
async fn crash_before_the_answer(world: &World) {
    let model = Arc::new(FakeModel::default());
    model.then(Reply::Hang);
    let running = world.run(Some("run the tests"), &model);
    until("the request and the acknowledgement", || {
        (model.asked() == 1 && world.unread("bob") == 0).then_some(())
    })
    .await;
    running.crash().await;
}

#[tokio::test]
async fn d2_a_message_that_was_delivered_but_not_answered_is_answered_once_after_a_crash() {
    let world = World::on_files();
    crash_before_the_answer(&world).await;
    world.forget_acks();
    assert_eq!(world.unread("bob"), 1);

    let model = FakeModel::saying("green");
    let running = world.start(world.join("bob", None), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("green"));
    assert_eq!(world.unread("bob"), 0);
    world.in_state(MemberState::Idle).await;
    assert_eq!(model.asked(), 1);
    assert_eq!(
        heard(&model.requests()[0]).matches("run the tests").count(),
        1
    );
    running.crash().await;
}

#[tokio::test]
async fn d2_a_power_cut_after_the_request_and_before_the_message_is_on_disk_loses_nothing() {
    let world = World::on_files();
    crash_before_the_answer(&world).await;
    // Neither the line nor the lines after it.
    swarm_os::replace_alone(&world.transcript_path(), b"").unwrap();
    world.forget_acks();

    let model = FakeModel::saying("green");
    let running = world.start(world.join("bob", None), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("green"));
    world.has_read_all().await;
    assert_eq!(model.asked(), 1);
    assert_eq!(world.transcript().matches("run the tests").count(), 1);
    running.crash().await;
}

#[tokio::test]
async fn d9_a_message_that_was_answered_is_only_acknowledged_after_a_crash() {
    let world = World::on_files();
    let model = FakeModel::saying("green");
    let running = world.run(Some("run the tests"), &model);
    world.idle(1).await;
    running.crash().await;
    world.forget_acks();

    let model = Arc::new(FakeModel::default());
    let running = world.start(world.join("bob", None), &model);
    world.has_read_all().await;
    world.in_state(MemberState::Idle).await;
    assert_eq!(model.asked(), 0);
    assert_eq!(world.transcript().matches("run the tests").count(), 1);
    model.then(say("still here"));
    world.say("are you there?");
    world.idle(2).await;
    let told = heard(&model.requests()[0]);
    assert_eq!(told.matches("run the tests").count(), 1, "{told}");
    running.crash().await;
}

#[tokio::test]
async fn d9_one_inbox_state_replayed_four_times_is_one_turn() {
    let world = World::on_files();
    let model = FakeModel::saying("green");
    let running = world.run(Some("run the tests"), &model);
    world.idle(1).await;
    for _ in 0..4 {
        world.forget_acks();
        world.has_read_all().await;
    }
    assert_eq!(model.asked(), 1);
    assert_eq!(world.idle_notices().len(), 1);
    running.crash().await;
}

#[tokio::test]
async fn d2_mail_sent_while_the_member_was_dead_is_read_by_the_next_spawn() {
    let world = World::new();
    let model = FakeModel::saying("one");
    let running = world.run(Some("first"), &model);
    world.idle(1).await;
    running.crash().await;
    world.say("second");
    let model = FakeModel::saying("two");
    let running = world.start(world.join("bob", Some("third")), &model);
    world.idle(2).await;
    let told = heard(&model.requests()[0]);
    assert!(told.contains("second") && told.contains("third"), "{told}");
    assert_eq!(model.asked(), 1);
    running.crash().await;
}

#[tokio::test]
async fn d2_a_message_is_acknowledged_only_once_it_is_in_the_transcript_on_disk() {
    let mut world = World::on_files();
    let (inbox, transcript) = (world.inbox_path(), world.transcript_path());
    let looks = Arc::new(Mutex::new(Vec::new()));
    let watch = {
        let looks = looks.clone();
        move || {
            let holds = |path: &Path, text: &str| {
                std::fs::read_to_string(path).is_ok_and(|file| file.contains(text))
            };
            let acked = holds(&inbox, "\"read\": true");
            looks
                .lock()
                .push((acked, holds(&transcript, "run the tests")));
        }
    };
    // The clock is read whenever something is shown, reported, or written to the transcript.
    world.clock = Arc::new(Lookout(Box::new(watch)));
    let model = FakeModel::saying("green");
    let running = world.run(Some("run the tests"), &model);
    world.idle(1).await;
    running.crash().await;
    let looks = looks.lock();
    for seen in [(false, false), (false, true), (true, true)] {
        assert!(looks.contains(&seen), "{looks:?}");
    }
    assert!(!looks.contains(&(true, false)), "{looks:?}");
}

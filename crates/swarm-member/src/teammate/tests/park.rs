//! Members that have lost their lead.

use std::sync::Arc;

use serde_json::json;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{Event, MemberState, OnLost, PermissionMode};
use swarm_store::process;
use tokio::sync::Notify;

use super::world::{World, approve, delivers, until};
use crate::teammate::Ending;
use crate::teammate::lead_watch::LeadWatch;
use swarm_testkit::{FakeModel, Reply, call, heard, say, words};

fn parked(event: &Event) -> bool {
    matches!(event, Event::MemberParked { .. })
}

fn continued(event: &Event) -> bool {
    matches!(event, Event::MemberContinued { from, .. } if *from == MemberState::Parked)
}

/// A model whose first reply comes when its team has just lost its lead.
fn losing_lead(world: &World, reply: Reply) -> Arc<FakeModel> {
    let lead = world.lead();
    let model = Arc::new(FakeModel::default());
    model.on(move |_| {
        drop(lead);
        reply
    });
    model
}

#[tokio::test]
async fn l4_the_kernel_wakes_the_watcher_when_the_lead_dies() {
    let world = World::new();
    let watcher = Arc::new(DirectoryWatcher::new());
    let mut watch = LeadWatch::new(watcher, world.crew(), OnLost::Park);
    assert_eq!(watch.lost().await, None, "the team has no lead");
    let lead = world.lead();
    assert_eq!(watch.lost().await, None);
    drop(lead);
    // No directory is watched here, so only the lock can wake.
    watch.changed().await;
    assert!(watch.lost().await.is_some());
    let _next = world.lead();
    assert_eq!(watch.lost().await, None);
}

#[tokio::test]
async fn l4_a_member_parks_when_its_lead_dies_and_continues_with_the_next() {
    let world = World::new();
    let lead = world.lead();
    let model = FakeModel::saying("one");
    model.then(say("two"));
    let running = world.run(Some("first"), &model);
    world.in_state(MemberState::Idle).await;
    drop(lead);
    world.in_state(MemberState::Parked).await;
    let second = world.say("second");
    let _next = world.lead();
    world.idle(2).await;
    assert!(heard(&model.requests()[1]).contains("second"));
    assert_eq!(world.journalled(parked), 1);
    assert_eq!(world.journalled(continued), 1);
    assert!(world.happened(continued) < world.happened(|event| delivers(event, &second)));
    running.crash().await;
}

#[tokio::test]
async fn l4_a_turn_stops_at_the_next_tool_boundary_and_is_taken_up_again() {
    let world = World::new();
    let file = world.directory.path().join("ran");
    let command = format!("sleep 0.3; touch {}", file.display());
    let model = losing_lead(&world, call("Bash", json!({"command": command})));
    model.then(say("done"));
    let running = world.run(Some("go"), &model);
    until("the turn is suspended", || {
        (world.outcomes() == ["suspended"]).then_some(())
    })
    .await;
    assert!(file.exists(), "the running call was let to its end");
    world.in_state(MemberState::Parked).await;
    assert_eq!((model.asked(), world.idle_notices().len()), (1, 0));

    // From here on, the team is led from the shell.
    world.crew().set_lead_process(None).await.unwrap();
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("done"));
    assert_eq!(model.asked(), 2);
    running.crash().await;
}

#[tokio::test]
async fn l4_an_answer_under_way_is_cut_and_asked_for_again() {
    let world = World::new();
    let model = losing_lead(&world, Reply::Hang);
    model.then(say("done"));
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Parked).await;
    let _next = world.lead();
    world.idle(1).await;
    let requests = model.requests();
    assert_eq!(requests[0].messages, requests[1].messages);
    running.crash().await;
}

#[tokio::test]
async fn a_lead_that_died_before_the_member_looked_is_missed_and_a_shutdown_is_still_approved() {
    let world = World::new();
    drop(world.lead());
    let model = FakeModel::saying("never");
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Parked).await;
    assert_eq!(world.unread("bob"), 1);
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!((model.asked(), world.unread("bob")), (0, 1));
}

#[tokio::test]
async fn on_lost_stop_stops_and_on_lost_continue_continues() {
    let mut world = World::new();
    world.limits.on_lost = OnLost::Stop;
    let lead = world.lead();
    let model = FakeModel::saying("one");
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Idle).await;
    drop(lead);
    assert_eq!(running.ending().await, Ending::LeadLost);
    assert_eq!(world.state(), Some(MemberState::Stopped));

    let mut world = World::new();
    world.limits.on_lost = OnLost::Continue;
    drop(world.lead());
    let running = world.run(Some("go"), &FakeModel::saying("one"));
    world.idle(1).await;
    running.crash().await;
}

#[tokio::test]
async fn a_foreign_lead_is_missed_only_when_its_process_is_dead_for_certain() {
    for (elsewhere, parks) in [(true, false), (false, true)] {
        let world = World::new();
        let mut lead = process::as_lead(swarm_protocol::UnixMs(1));
        lead.proc_start = "1".to_owned();
        if elsewhere {
            lead.pid_space = "elsewhere#pid:[1]".to_owned();
        }
        world.crew().set_lead_process(Some(lead)).await.unwrap();
        let running = world.run(Some("go"), &FakeModel::saying("one"));
        if parks {
            world.in_state(MemberState::Parked).await;
        } else {
            world.idle(1).await;
        }
        running.crash().await;
    }
}

#[tokio::test]
async fn a_lead_that_is_back_before_the_call_has_ended_finds_the_member_at_work() {
    let world = World::new();
    let let_go = Arc::new(Notify::new());
    let model = losing_lead(&world, call("Bash", json!({"command": "sleep 0.3"})));
    model.then(Reply::When(Arc::clone(&let_go), words("done")));
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Parked).await;
    let _next = world.lead();
    until("the second request", || (model.asked() == 2).then_some(())).await;
    assert_eq!(world.journalled(parked), 0);
    let_go.notify_one();
    world.idle(1).await;
    running.crash().await;
}

#[tokio::test]
async fn a_member_in_a_call_says_parked_only_until_its_team_is_led_again() {
    let world = World::new();
    let end = world.directory.path().join("end");
    let command = format!("until test -e {}; do sleep 0.02; done", end.display());
    let model = losing_lead(&world, call("Bash", json!({"command": command})));
    model.then(say("done"));
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Parked).await;
    let next = world.lead();
    world.in_state(MemberState::Working).await;
    drop(next);
    world.in_state(MemberState::Parked).await;
    // From here on, a person leads, as after `swarm resume`.
    world.crew().set_lead_process(None).await.unwrap();
    world.in_state(MemberState::Working).await;
    assert_eq!(model.asked(), 1, "the call still runs");
    std::fs::File::create(end).unwrap();
    world.idle(1).await;
    running.crash().await;
}

#[tokio::test]
async fn a_member_that_waits_for_an_answer_says_so_again_when_its_team_is_led_again() {
    let mut world = World::new();
    world.mode = PermissionMode::Default;
    let lead = world.lead();
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "touch made"})));
    model.then(say("done"));
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::WaitingPermission).await;
    drop(lead);
    world.in_state(MemberState::Parked).await;
    let _next = world.lead();
    world.in_state(MemberState::WaitingPermission).await;
    let mut queue = world.crew().requests().await.unwrap().requests;
    let request = queue.pop().expect("the request");
    approve(&world, &request).await;
    world.idle(1).await;
    running.crash().await;
}

#[tokio::test]
async fn a_member_in_a_call_that_is_to_stop_with_its_lead_says_stopping() {
    let mut world = World::new();
    world.limits.on_lost = OnLost::Stop;
    let end = world.directory.path().join("end");
    let command = format!("until test -e {}; do sleep 0.02; done", end.display());
    let model = losing_lead(&world, call("Bash", json!({"command": command})));
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Stopping).await;
    std::fs::File::create(end).unwrap();
    assert_eq!(running.ending().await, Ending::LeadLost);
    assert_eq!(world.state(), Some(MemberState::Stopped));
}

//! The shutdown handshake during a turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use swarm_protocol::{ControlFrame, RequestId};
use swarm_team::Incoming;
use tokio::sync::Notify;

use super::world::{World, until};
use crate::teammate::Ending;
use swarm_testkit::{FakeModel, Reply, call, heard, say, words};

fn refusal(id: &RequestId) -> serde_json::Value {
    json!({
        "to": "team-lead",
        "message": {
            "type": "shutdown_response", "request_id": id, "approve": false, "reason": "tests run",
        },
    })
}

/// A turn in which the request arrives and the model refuses it. `last` is the model's next reply.
fn refuse_then(world: &Arc<World>, model: &FakeModel, last: Reply) {
    let asker = Arc::clone(world);
    let (tell, told) = std::sync::mpsc::channel();
    model.on(move |_| {
        tell.send(asker.ask_to_stop()).unwrap();
        call("TaskList", json!({}))
    });
    model.on(move |request| {
        let id: RequestId = told.recv().unwrap();
        let heard = heard(request);
        assert!(
            heard.contains(id.as_str()) && heard.contains("all is done"),
            "{heard}"
        );
        call("SendMessage", refusal(&id))
    });
    model.then(last);
}

#[tokio::test]
async fn a_model_that_refuses_with_a_reason_continues() {
    let world = Arc::new(World::new());
    let model = Arc::new(FakeModel::default());
    refuse_then(&world, &model, say("going on"));
    model.then(say("still here"));
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    let mail = world.leads_mail();
    assert!(
        matches!(&mail[0], Incoming { frame: Some(ControlFrame::ShutdownRejected(frame)), .. } if frame.reason == "tests run"),
        "{mail:?}"
    );
    assert_eq!(world.unread("bob"), 0);
    world.say("are you there?");
    world.idle(2).await;
    let refused = |incoming: &&Incoming| {
        matches!(
            incoming,
            Incoming {
                frame: Some(ControlFrame::ShutdownApproved(_)),
                ..
            }
        )
    };
    assert_eq!(world.leads_mail().iter().filter(refused).count(), 0);
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
}

#[tokio::test]
async fn a_refused_request_no_longer_limits_the_turn() {
    let mut world = World::new();
    world.limits.shutdown_grace_ms = 2_000;
    let world = Arc::new(world);
    let model = Arc::new(FakeModel::default());
    let let_go = Arc::new(Notify::new());
    refuse_then(
        &world,
        &model,
        Reply::When(let_go.clone(), words("finished")),
    );
    let running = world.run(Some("go"), &model);
    until("the refusal", || (model.asked() == 3).then_some(())).await;
    // After the deadline of the request.
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let_go.notify_one();
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("finished"));
    assert_eq!(world.outcomes(), ["finished"]);
    running.crash().await;
}

#[tokio::test]
async fn a_model_that_does_not_refuse_finishes_its_turn_and_the_program_approves() {
    let world = Arc::new(World::new());
    let model = Arc::new(FakeModel::default());
    let asker = Arc::clone(&world);
    model.on(move |_| {
        asker.ask_to_stop();
        call("TaskList", json!({}))
    });
    model.then(say("wrapped up"));
    let running = world.run(Some("go"), &model);
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(
        world.idle_notices()[0].result.as_deref(),
        Some("wrapped up")
    );
    assert_eq!(world.outcomes(), ["finished"]);
    assert!(matches!(
        world.leads_mail().last(),
        Some(Incoming {
            frame: Some(ControlFrame::ShutdownApproved(_)),
            ..
        })
    ));
    assert_eq!(model.asked(), 2);
}

#[tokio::test]
async fn l1_a_hung_tool_is_cut_at_the_deadline_and_the_program_approves() {
    let mut world = World::new();
    world.limits.shutdown_grace_ms = 50;
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "touch begun; sleep 1000"})));
    let running = world.run(Some("go"), &model);
    let begun = world.directory.path().join("begun");
    until("the tool", || begun.exists().then_some(())).await;
    let id = world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    let mail = world.leads_mail();
    assert!(
        matches!(mail.last(), Some(Incoming { frame: Some(ControlFrame::ShutdownApproved(frame)), .. }) if frame.request_id == id),
        "{mail:?}"
    );
    assert_eq!(world.outcomes(), ["interrupted"]);
}

#[tokio::test]
async fn a_request_that_was_let_in_before_anybody_looked_has_a_deadline_too() {
    let mut world = World::new();
    world.limits.shutdown_grace_ms = 50;
    let world = Arc::new(world);
    let model = Arc::new(FakeModel::default());
    let asker = Arc::clone(&world);
    // The turn reads the request and continues to its next call without yielding.
    model.on(move |_| {
        asker.ask_to_stop();
        call("TaskList", json!({}))
    });
    model.then(Reply::Hang);
    let running = world.run(Some("go"), &model);
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(world.outcomes(), ["interrupted"]);
}

#[tokio::test]
async fn each_request_has_a_separate_grace_period() {
    const GRACE: Duration = Duration::from_secs(2);
    let mut world = World::new();
    world.limits.shutdown_grace_ms = 2_000;
    let world = Arc::new(world);
    let model = Arc::new(FakeModel::default());
    refuse_then(&world, &model, Reply::Hang);
    let running = world.run(Some("go"), &model);
    until("the refusal", || (model.asked() == 3).then_some(())).await;
    tokio::time::sleep(GRACE / 2).await;
    let asked = Instant::now();
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert!(asked.elapsed() >= GRACE, "{:?}", asked.elapsed());
}

#[tokio::test]
async fn an_idle_member_is_asked_and_its_model_may_refuse() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(say("ready"));
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    model.on(|request| {
        let heard = heard(request);
        let id = heard.rsplit("\"request_id\":\"").next().unwrap();
        let id = RequestId::new(id.split('"').next().unwrap());
        call("SendMessage", refusal(&id))
    });
    model.then(say("going on"));
    world.ask_to_stop();
    world.idle(2).await;
    let mail = world.leads_mail();
    assert!(
        mail.iter().any(|incoming| {
            matches!(incoming, Incoming { frame: Some(ControlFrame::ShutdownRejected(frame)), .. } if frame.reason == "tests run")
        }),
        "{mail:?}"
    );
    model.then(say("good bye"));
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(model.asked(), 4);
    let last = world.idle_notices().pop().unwrap();
    assert_eq!(last.result.as_deref(), Some("good bye"));
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_waited_for_until_the_deadline() {
    let mut world = World::new();
    world.limits.shutdown_grace_ms = 50;
    let model = Arc::new(FakeModel::default());
    model.then(say("ready"));
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    model.then(Reply::Hang);
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!((model.asked(), world.unread("bob")), (2, 0));
}

#[tokio::test]
async fn a_request_that_comes_during_the_last_answer_is_put_to_the_model() {
    let world = Arc::new(World::new());
    let model = Arc::new(FakeModel::default());
    let asker = Arc::clone(&world);
    model.on(move |_| {
        asker.ask_to_stop();
        say("half of it is done")
    });
    model.on(|request| {
        assert!(heard(request).contains("asks you to shut down"));
        say("wrapped up")
    });
    let running = world.run(Some("go"), &model);
    assert_eq!(running.ending().await, Ending::ShutDown);
    let results: Vec<_> = world
        .idle_notices()
        .into_iter()
        .filter_map(|notice| notice.result)
        .collect();
    assert_eq!(results, ["half of it is done", "wrapped up"]);
}

#[tokio::test]
async fn a_forced_request_interrupts_a_model_request_without_asking_the_model() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(Reply::Hang);
    let running = world.run(Some("go"), &model);
    until("the request", || (model.asked() == 1).then_some(())).await;
    world.force_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(world.outcomes(), ["interrupted"]);
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn a_forced_request_interrupts_a_command_and_asks_no_idle_model() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "touch begun; sleep 1000"})));
    let running = world.run(Some("go"), &model);
    let begun = world.directory.path().join("begun");
    until("the tool", || begun.exists().then_some(())).await;
    world.force_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(world.outcomes(), ["interrupted"]);

    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(say("ready"));
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    world.force_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn a_teammate_told_to_stop_does_not_wait_for_a_lock_at_the_end_of_its_turn() {
    let world = World::on_files();
    let model = Arc::new(FakeModel::default());
    let let_go = Arc::new(Notify::new());
    model.then(Reply::When(let_go.clone(), words("finished")));
    let running = world.run(Some("go"), &model);
    until("the turn", || (model.asked() == 1).then_some(())).await;
    let lock = world.file("config.json.lock");
    until("the lock", || std::fs::create_dir(&lock).ok()).await;
    let_go.notify_one();
    until("the end of the turn", || {
        world.transcript().contains("finished").then_some(())
    })
    .await;
    let began = Instant::now();
    running.terminate.tell("its pane is gone");
    assert_eq!(running.ending().await, Ending::Terminated);
    assert!(began.elapsed() < Duration::from_secs(5), "it has waited");
    std::fs::remove_dir(&lock).unwrap();
}

//! Members with background sub-agents.

use std::sync::Arc;

use serde_json::json;
use swarm_model::ModelError;
use swarm_protocol::{Event, MemberState, PauseMark, UnixMs};
use swarm_ui::PaneInput;
use tokio::sync::Notify;

use super::world::{World, bob, until};
use crate::teammate::Ending;
use swarm_testkit::{FakeModel, Reply, call, heard, say, words};

fn launch(background: bool) -> Reply {
    let input = json!({"description": "look", "prompt": "look", "run_in_background": background});
    call("Agent", input)
}

/// Bob, whose sub-agent waits for the returned gate before its first response.
fn model() -> (Arc<FakeModel>, Arc<Notify>) {
    let (model, gate) = (Arc::new(FakeModel::default()), Arc::new(Notify::new()));
    model.then(launch(true));
    model.then(say("begun"));
    let look = call("Bash", json!({"command": "true"}));
    let Reply::Now(look) = look else {
        unreachable!()
    };
    model.beside(Reply::When(Arc::clone(&gate), look));
    model.beside(say("it is there"));
    model.then(say("all done"));
    (model, gate)
}

/// Waits until the sub-agent would send its next request.
async fn its_call_has_run(world: &World) {
    until("its call has run", || {
        let directory = world.transcript_path().with_extension("").join("subagents");
        let files = std::fs::read_dir(directory).unwrap().flatten();
        let lines = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        lines
            .into_iter()
            .any(|text| text.contains("tool_result"))
            .then_some(())
    })
    .await;
    // A sub-agent that is not suspended sends it when it is next scheduled.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn l4_a_foreground_sub_agent_sends_no_requests_after_the_lead_is_lost() {
    let world = World::new();
    let lead = world.lead();
    let (model, gate) = (Arc::new(FakeModel::default()), Arc::new(Notify::new()));
    model.then(launch(false));
    let Reply::Now(look) = call("Bash", json!({"command": "true"})) else {
        unreachable!()
    };
    model.beside(Reply::When(Arc::clone(&gate), look));
    model.beside(say("it is there"));
    model.then(say("going on"));
    model.then(say("all done"));
    let running = world.run(Some("go"), &model);
    until("the sub-agent asks", || (model.asked() == 2).then_some(())).await;
    drop(lead);
    until("the turn is suspended", || {
        (world.outcomes() == ["suspended"]).then_some(())
    })
    .await;
    world.in_state(MemberState::Parked).await;
    gate.notify_one();
    its_call_has_run(&world).await;
    assert_eq!(model.asked(), 2, "nothing is asked of the model");
    let _next = world.lead();
    world.idle(1).await;
    let requests = model.requests();
    let told = requests
        .iter()
        .any(|one| heard(one).contains("it is there"));
    assert!(told && requests.len() >= 4, "{}", requests.len());
    running.crash().await;
}

#[tokio::test]
async fn a_member_with_a_background_agent_is_not_idle_and_reports_once_that_has_ended() {
    let world = World::new();
    let (model, gate) = model();
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Background).await;
    assert_eq!(world.idle_notices().len(), 0);
    gate.notify_one();
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("begun\n\nall done"));
    world.in_state(MemberState::Idle).await;
    assert_eq!(world.idle_notices().len(), 1);
    running.crash().await;
}

#[tokio::test]
async fn a_failed_turn_is_reported_immediately_despite_background_work() {
    let world = World::new();
    let (model, gate) = (Arc::new(FakeModel::default()), Arc::new(Notify::new()));
    model.then(launch(true));
    model.then(Reply::Fail(ModelError::InvalidRequest(
        "no more of this".to_owned(),
    )));
    model.beside(Reply::When(Arc::clone(&gate), words("it is there")));
    model.then(say("all done"));
    let running = world.run(Some("go"), &model);
    let notices = world.idle(1).await;
    let why = notices[0].failure_reason.as_deref().unwrap_or_default();
    assert!(why.contains("no more of this"), "{notices:?}");
    gate.notify_one();
    let notices = world.idle(2).await;
    assert_eq!(notices[1].result.as_deref(), Some("all done"));
    running.crash().await;
}

#[tokio::test]
async fn what_it_had_to_report_is_with_the_lead_when_it_ends_before() {
    let world = World::new();
    let (model, _gate) = model();
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Background).await;
    world.force_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    let notices = world.idle_notices();
    assert_eq!(notices[0].result.as_deref(), Some("begun"));
}

#[tokio::test]
async fn l5_a_pause_holds_background_agents_too() {
    let world = World::new();
    let (model, gate) = model();
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::Background).await;
    until("the sub-agent asks", || (model.asked() == 3).then_some(())).await;
    let mark = PauseMark {
        spawn_id: running.spawn_id,
        by: "person".to_owned(),
        at: UnixMs(1),
        reason: None,
    };
    world.crew().set_paused(&bob(), Some(&mark)).await.unwrap();
    world.in_state(MemberState::Paused).await;
    gate.notify_one();
    its_call_has_run(&world).await;
    assert_eq!(model.asked(), 3, "nothing is asked of the model");
    world.crew().set_paused(&bob(), None).await.unwrap();
    world.idle(1).await;
    assert_eq!(model.asked(), 5);
    let ended = |event: &Event| matches!(event, Event::MemberContinued { .. });
    assert_eq!(world.journalled(ended), 1);
    running.crash().await;
}

#[tokio::test]
async fn a_person_at_the_pane_sends_a_sub_agent_to_the_background() {
    let world = World::new();
    let (model, gate) = (Arc::new(FakeModel::default()), Arc::new(Notify::new()));
    model.then(launch(false));
    model.beside(Reply::When(Arc::clone(&gate), words("it is there")));
    model.then(say("going on"));
    model.then(say("heard"));
    let (running, person) = world.run_in_pane(Some("go"), &model);
    until("the sub-agent asks", || (model.asked() == 2).then_some(())).await;
    person.send(PaneInput::Background).unwrap();
    world.in_state(MemberState::Background).await;
    let told = heard(&model.requests()[2]);
    assert!(told.contains("Async agent launched"), "{told}");
    gate.notify_one();
    world.idle(1).await;
    assert!(heard(&model.requests()[3]).contains("it is there"));
    running.crash().await;
}

//! Questions of peers that a turn has not answered.

use std::sync::Arc;

use serde_json::json;
use swarm_protocol::MemberState;
use swarm_store::{BlockOn as _, Draft};
use swarm_testkit::{FakeModel, call, say};

use super::world::{World, bob};

fn detail(world: &World) -> Option<String> {
    let report = world.crew().state(&bob()).block_on();
    report.unwrap().and_then(|report| report.detail)
}

#[tokio::test]
async fn a_question_that_a_turn_ignored_is_in_the_state_until_it_is_answered() {
    let world = World::new();
    world.join("alice", None);
    let model = Arc::new(FakeModel::default());
    model.then(say("ready"));
    model.then(say("I do not care."));
    model.then(call("SendMessage", json!({"to": "alice", "message": "80"})));
    model.then(say("answered"));
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    world.send(Draft::new("alice", "Which port?"));
    world.idle(2).await;
    world.in_state(MemberState::Idle).await;
    assert_eq!(detail(&world).as_deref(), Some("unanswered: alice"));
    world.say("Answer alice.");
    world.idle(3).await;
    world.in_state(MemberState::Idle).await;
    assert_eq!(detail(&world), None);
    running.crash().await;
}

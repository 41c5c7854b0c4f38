//! Turns that are suspended and taken up again.

use std::sync::Arc;

use serde_json::json;
use swarm_agent::{TurnOutcome, TurnSignals};
use swarm_model::ModelEvent;
use tokio::sync::Notify;

use crate::model::{Reply, call, say};
use crate::tools::{Log, change, slow};
use crate::valid::{assert_valid, results};
use crate::world::{World, on};

#[tokio::test]
async fn a_turn_suspended_in_a_tool_lets_it_end_and_begins_nothing_more() {
    let (started, let_go, log) = (Arc::<Notify>::default(), Arc::default(), Log::default());
    let world = World::new(vec![
        slow(started.clone(), Arc::clone(&let_go)),
        change(log.clone()),
    ]);
    world.model.play([call([
        ("a", "Slow", json!({})),
        ("b", "Change", json!({"text": "1"})),
    ])]);
    let mut session = world.prompted();
    let signals = TurnSignals::default();
    let suspend = signals.suspend.clone();
    let (outcome, ()) = tokio::join!(session.run_turn(signals), async {
        started.notified().await;
        suspend.cancel();
        let_go.notify_one();
    });
    assert!(matches!(outcome, TurnOutcome::Suspended { .. }));
    assert_eq!(outcome.spent().requests, 1);
    assert!(log.lock().is_empty());
    assert_eq!(world.model.requests().len(), 1);

    // Here, and after a restart, the turn is still due.
    assert!(session.needs_turn());
    let mut session = world.open();
    assert!(session.needs_turn());
    world.model.play([say("done")]);
    let outcome = session.run_turn(on()).await;
    assert_eq!(outcome.text(), "done");
    let messages = world.model.last_request().messages;
    assert_valid(&messages);
    let got = results(&messages[2]);
    assert_eq!(got[0], ("a", "came to its end", false));
    assert!(got[1].1.contains("was not run") && got[1].2);
}

#[tokio::test]
async fn a_turn_suspended_in_an_answer_asks_the_same_again_later() {
    let world = World::new(vec![]);
    let half = ModelEvent::TextDelta("half an ans".into());
    world.model.play([Reply::Hang(vec![half]), say("whole")]);
    let mut session = world.prompted();
    let signals = TurnSignals::default();
    let suspend = signals.suspend.clone();
    let (outcome, ()) = tokio::join!(session.run_turn(signals), async {
        world.model.silent.notified().await;
        suspend.cancel();
    });
    assert!(matches!(outcome, TurnOutcome::Suspended { .. }));
    assert!(session.needs_turn());
    assert_eq!(session.run_turn(on()).await.text(), "whole");
    let requests = world.model.requests();
    assert_eq!(requests[0].messages, requests[1].messages);
}

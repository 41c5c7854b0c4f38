//! Suspended and continued turns.

use std::sync::Arc;

use serde_json::json;
use swarm_agent::{TurnSignals, TurnStop};
use swarm_model::ModelEvent;
use swarm_protocol::AgentEvent;
use tokio::sync::Notify;

use crate::model::{Reply, call, say};
use crate::setup::{Setup, on};
use crate::tools::{Log, change, slow};
use crate::valid::{assert_valid, results};

#[tokio::test]
async fn suspending_lets_the_running_tool_finish_and_starts_nothing_new() {
    let (started, release, log) = (Arc::<Notify>::default(), Arc::default(), Log::default());
    let setup = Setup::new(vec![
        slow(started.clone(), Arc::clone(&release)),
        change(log.clone()),
    ]);
    setup.model.play([call([
        ("a", "Slow", json!({})),
        ("b", "Change", json!({"text": "1"})),
    ])]);
    let mut session = setup.prompted();
    let signals = TurnSignals::default();
    let suspend = signals.suspend.clone();
    let (outcome, ()) = tokio::join!(session.run_turn(signals), async {
        started.notified().await;
        suspend.cancel();
        release.notify_one();
    });
    assert!(matches!(outcome.end, Err(TurnStop::Suspended)));
    assert_eq!(outcome.spent.requests, 1);
    assert!(log.lock().is_empty());
    assert_eq!(setup.model.requests().len(), 1);

    // Now, and after a restart, the turn has to be continued.
    assert!(session.needs_turn());
    let mut session = setup.open();
    assert!(session.needs_turn());
    setup.model.play([say("done")]);
    let outcome = session.run_turn(on()).await;
    assert_eq!(outcome.text, "done");
    let messages = setup.model.last_request().messages;
    assert_valid(&messages);
    let got = results(&messages[2]);
    assert_eq!(got[0], ("a", "finished", false));
    assert!(got[1].1.contains("was not run") && got[1].2);
}

#[tokio::test]
async fn a_turn_suspended_during_a_response_repeats_the_request() {
    let setup = Setup::new(vec![]);
    let half = ModelEvent::TextDelta("half an ans".into());
    setup.model.play([Reply::Hang(vec![half]), say("whole")]);
    let mut session = setup.prompted();
    let signals = TurnSignals::default();
    let suspend = signals.suspend.clone();
    let (outcome, ()) = tokio::join!(session.run_turn(signals), async {
        setup.model.silent.notified().await;
        suspend.cancel();
    });
    assert!(matches!(outcome.end, Err(TurnStop::Suspended)));
    assert!(session.needs_turn());
    assert!(setup.watcher.events().contains(&AgentEvent::TextDiscarded));
    assert_eq!(session.run_turn(on()).await.text, "whole");
    let requests = setup.model.requests();
    assert_eq!(requests[0].messages, requests[1].messages);
}

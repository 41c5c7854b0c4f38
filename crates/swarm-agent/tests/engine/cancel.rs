//! Interrupted turns.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use swarm_agent::{Injected, Session, TurnOutcome, TurnStop};
use swarm_hooks::AgentHooks;
use swarm_model::{ModelError, ModelEvent};
use swarm_protocol::AgentEvent;
use tokio::sync::Notify;

use crate::model::{COST, Reply, call, say};
use crate::setup::{Setup, hooks_in, on};
use crate::tools::{Log, change, long, shell};
use crate::valid::{assert_valid, results, texts};

/// Runs a turn and cancels it on notification.
async fn interrupted(session: &mut Session, trigger: Arc<Notify>) -> TurnOutcome {
    let cancel = on();
    let stop = cancel.clone();
    let (outcome, ()) = tokio::join!(session.run_turn(cancel), async move {
        trigger.notified().await;
        stop.cancel();
    });
    outcome
}

/// Returns the messages of the next request after another prompt.
async fn next_request(setup: &Setup, session: &mut Session) -> Vec<swarm_model::Message> {
    setup.model.play([say("next")]);
    session.deliver(vec![Injected::prompt("go on")]).unwrap();
    session.run_turn(on()).await;
    let request = setup.model.last_request();
    assert_valid(&request.messages);
    request.messages
}

#[tokio::test]
async fn interrupting_a_tool_gives_every_call_a_result() {
    for stubborn in [false, true] {
        let (started, log) = (Arc::new(Notify::new()), Log::default());
        let setup = Setup::new(vec![long(started.clone(), stubborn), change(log.clone())]);
        setup.model.play([call([
            ("a", "Change", json!({"text": "1"})),
            ("b", "Long", json!({})),
            ("c", "Change", json!({"text": "2"})),
        ])]);
        let mut session = setup.prompted();
        let outcome = interrupted(&mut session, started).await;
        assert!(matches!(outcome.end, Err(TurnStop::Interrupted)));
        assert!(!session.needs_turn());
        assert_eq!(*log.lock(), ["begin 1", "end 1"]);

        // The state read from the file is the same.
        let mut session = setup.open();
        assert!(!session.needs_turn());
        let messages = next_request(&setup, &mut session).await;
        let got = results(&messages[2]);
        assert_eq!(got[0], ("a", "changed 1", false));
        let expected = if stubborn {
            "may have run"
        } else {
            "stopped half-way"
        };
        assert!(got[1].1.contains(expected) && got[1].2, "{:?}", got[1]);
        assert!(got[2].1.contains("was not run") && got[2].2);
        assert!(texts(&messages[2])[0].contains("interrupted"));
    }
}

#[tokio::test]
async fn a_partial_response_of_an_interrupted_turn_is_not_kept_and_no_retry_is_announced() {
    let setup = Setup::new(vec![]);
    let half = ModelEvent::TextDelta("half an ans".into());
    setup.model.play([Reply::Hang(vec![half])]);
    let mut session = setup.prompted();
    let outcome = interrupted(&mut session, setup.model.silent.clone()).await;
    assert!(matches!(outcome.end, Err(TurnStop::Interrupted)));
    assert!(!setup.watcher.events().contains(&AgentEvent::TextDiscarded));
    assert!(!setup.on_disk().contains("half an ans"));
    let messages = next_request(&setup, &mut session).await;
    assert_eq!(
        texts(&messages[0]),
        ["do it", "[The turn was interrupted here.]"]
    );
    assert_eq!(texts(&messages[1]), ["go on"]);
}

#[tokio::test]
async fn usage_of_incomplete_responses_is_counted_permanently() {
    let setup = Setup::new(vec![]);
    let counted = || ModelEvent::Unanswered { usage: COST };
    let gave_up = ModelError::Overloaded {
        message: "busy".into(),
        attempts: 3,
    };
    setup.model.play([
        Reply::Hang(vec![counted()]),
        Reply::Events(vec![Ok(counted()), Err(gave_up)]),
        say("at last"),
    ]);
    let mut session = setup.prompted();
    let outcome = interrupted(&mut session, setup.model.silent.clone()).await;
    assert_eq!(outcome.spent.usage, COST, "of the interrupted turn");
    session.deliver(vec![Injected::prompt("go on")]).unwrap();
    let outcome = session.run_turn(on()).await;
    assert_eq!(outcome.spent.usage, COST, "of the failed turn");
    session.deliver(vec![Injected::prompt("and now")]).unwrap();
    session.run_turn(on()).await;
    let totals = session.totals();
    assert_eq!(totals.usage.total(), 3 * COST.total());
    assert_eq!(totals.requests, 1);
    drop(session);
    assert_eq!(setup.open().totals(), totals, "as it is on disk");
}

#[tokio::test]
async fn a_turn_cancelled_before_its_start_sends_no_request() {
    let setup = Setup::new(vec![]);
    setup.model.play([say("never")]);
    let mut session = setup.prompted();
    let cancel = on();
    cancel.cancel();
    let outcome = session.run_turn(cancel).await;
    assert!(matches!(outcome.end, Err(TurnStop::Interrupted)));
    assert_eq!(outcome.spent.requests, 0);
}

#[tokio::test]
async fn a_call_is_not_run_if_its_hook_is_interrupted() {
    let log = Log::default();
    let mut setup = Setup::new(vec![shell(log.clone())]);
    let begun = setup.scratch.path().join("begun");
    let command = format!("echo > {} && exec sleep 100000", begun.display());
    let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
    setup.hooks = hooks_in(setup.scratch.path(), &json!({"PreToolUse": hook}));
    setup
        .model
        .play([call([("a", "Bash", json!({"command": "make"}))])]);
    let mut session = setup.prompted();
    let stop = on();
    let turn = session.run_turn(stop.clone());
    let (outcome, ()) = tokio::join!(turn, async {
        while !begun.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stop.cancel();
    });
    assert!(matches!(outcome.end, Err(TurnStop::Interrupted)));
    assert!(log.lock().is_empty());
    setup.hooks = AgentHooks::default();
    let mut session = setup.open();
    let messages = next_request(&setup, &mut session).await;
    let (id, told, is_error) = results(&messages[2])[0];
    assert_eq!((id, is_error), ("a", true));
    assert!(told.contains("was not run"), "{told}");
}

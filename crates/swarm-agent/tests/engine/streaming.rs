//! Events of a streamed response.

use std::time::Duration;

use swarm_agent::{AgentError, TurnStop};
use swarm_model::{ContentBlock, ModelError, ModelEvent, StopReason};
use swarm_protocol::{AgentEvent, MemberState};

use crate::model::{COST, Reply, response, say};
use crate::setup::{Setup, on};

fn delta(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.into())
}

fn done(text: &str) -> ModelEvent {
    ModelEvent::Completed(response(
        vec![ContentBlock::text(text)],
        StopReason::EndTurn,
    ))
}

fn state(state: MemberState, detail: Option<&str>) -> AgentEvent {
    AgentEvent::State {
        state,
        detail: detail.map(Into::into),
    }
}

#[tokio::test]
async fn text_of_a_failed_attempt_is_discarded_and_streamed_again() {
    let setup = Setup::new(vec![]);
    let retrying = ModelEvent::Retrying {
        attempt: 2,
        wait: Duration::from_millis(1500),
        reason: "overloaded".into(),
        is_overload: true,
    };
    let events = [delta("Hel"), retrying, delta("Hello"), done("Hello")];
    setup
        .model
        .play([Reply::Events(events.into_iter().map(Ok).collect())]);
    let mut session = setup.prompted();
    session.run_turn(on()).await;
    assert_eq!(
        setup.watcher.events(),
        [
            AgentEvent::TurnStarted,
            state(MemberState::Working, None),
            AgentEvent::TextDelta { text: "Hel".into() },
            AgentEvent::TextDiscarded,
            state(MemberState::Throttled, Some("retries in 2 s: overloaded")),
            AgentEvent::Retrying {
                attempt: 2,
                wait_ms: 1500,
                reason: "overloaded".into()
            },
            state(MemberState::Working, None),
            AgentEvent::TextDelta {
                text: "Hello".into()
            },
            AgentEvent::MessageDone {
                text: "Hello".into()
            },
            AgentEvent::TurnEnded {
                text: "Hello".into(),
                usage: COST,
                error: None,
                outcome: "finished".to_owned(),
            },
        ]
    );
}

#[tokio::test]
async fn a_broken_stream_fails_the_turn_and_no_retry_is_announced() {
    let setup = Setup::new(vec![]);
    let error = ModelError::ContextTooLong("210000 tokens".into());
    setup.model.play([
        Reply::Events(vec![Ok(delta("half")), Err(error.clone())]),
        Reply::Events(vec![Ok(delta("half"))]),
        say("fine"),
    ]);
    let mut session = setup.prompted();
    let outcome = session.run_turn(on()).await;
    assert!(matches!(&outcome.end, Err(TurnStop::Failed(AgentError::Model(e))) if *e == error));
    assert!(outcome.trouble().unwrap().contains("210000 tokens"));
    assert!(!setup.watcher.events().contains(&AgentEvent::TextDiscarded));
    assert!(!setup.on_disk().contains("half"));
    // The failure was reported; the caller can retry.
    assert!(!session.needs_turn());
    let outcome = session.run_turn(on()).await;
    assert!(
        outcome
            .trouble()
            .unwrap()
            .contains("without a complete response")
    );
    let outcome = session.run_turn(on()).await;
    assert!(outcome.is_finished());
    assert_eq!(outcome.text, "fine");
}

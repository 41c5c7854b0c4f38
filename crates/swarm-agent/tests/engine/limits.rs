//! Turns that reach a limit, and responses that end abnormally.

use serde_json::json;
use swarm_agent::{AgentError, Injected, TurnStop};
use swarm_model::{ContentBlock, StopReason};
use swarm_protocol::AgentEvent;

use crate::model::{call, reply, say, tool_use};
use crate::setup::{Setup, on};
use crate::tools::echo;
use crate::valid::{assert_valid, results, texts};

#[tokio::test]
async fn a_turn_that_reaches_its_limit_reports_it() {
    let mut setup = Setup::new(vec![echo()]);
    setup.limits.max_turns = 2;
    let working = vec![
        ContentBlock::text("half of it is done"),
        tool_use("a", "Echo", json!({"text": "x"})),
    ];
    setup.model.play([
        reply(working, StopReason::ToolUse),
        call([("b", "Echo", json!({"text": "y"}))]),
        say("the rest"),
    ]);
    let mut session = setup.prompted();
    let outcome = session.run_turn(on()).await;
    assert!(matches!(outcome.end, Err(TurnStop::Limit)));
    assert!(outcome.text.contains("limit of 2"));
    assert!(outcome.text.contains("half of it is done"));
    assert!(!session.needs_turn());
    let ended = setup.watcher.events().pop().unwrap();
    assert!(matches!(
        ended,
        AgentEvent::TurnEnded { error: Some(_), .. }
    ));

    // A restart does not continue the turn, but a message does, and the model knows about the
    // limit.
    let mut session = setup.open();
    assert!(!session.needs_turn());
    session.deliver(vec![Injected::prompt("go on")]).unwrap();
    assert!(session.needs_turn());
    assert_eq!(session.run_turn(on()).await.text, "the rest");
    let request = setup.model.last_request();
    assert_valid(&request.messages);
    let (stopped, next) = (&request.messages[4], &request.messages[5]);
    assert_eq!(results(stopped), [("b", "y", false)]);
    assert!(texts(stopped)[0].contains("limit of 2"));
    assert_eq!(texts(next), ["go on"]);
}

#[tokio::test]
async fn a_truncated_text_is_continued_once_and_joined() {
    let setup = Setup::new(vec![]);
    let cut = |text: &str| reply(vec![ContentBlock::text(text)], StopReason::MaxTokens);
    setup.model.play([cut("one, tw"), say("o, three")]);
    let mut session = setup.prompted();
    assert_eq!(session.run_turn(on()).await.text, "one, two, three");
    let request = setup.model.last_request();
    assert_valid(&request.messages);
    assert!(texts(&request.messages[2])[0].contains("cut off"));

    setup.model.play([cut("one, tw"), cut("o, thr")]);
    session.deliver(vec![Injected::prompt("again")]).unwrap();
    let outcome = session.run_turn(on()).await;
    assert!(outcome.is_finished());
    assert!(
        outcome
            .text
            .starts_with("one, two, thr\n\n[The answer was cut off")
    );
}

#[tokio::test]
async fn a_call_cut_off_by_the_output_limit_is_not_run() {
    let setup = Setup::new(vec![echo()]);
    let calls = vec![
        tool_use("a", "Echo", json!({"text": "whole"})),
        tool_use("b", "Echo", json!({})),
    ];
    setup
        .model
        .play([reply(calls, StopReason::MaxTokens), say("ok")]);
    setup.prompted().run_turn(on()).await;
    let request = setup.model.last_request();
    let got = results(&request.messages[2]);
    assert_eq!(got[0], ("a", "whole", false));
    assert!(got[1].1.contains("cut off") && got[1].2);
}

#[tokio::test]
async fn truncated_thinking_leaves_a_valid_conversation() {
    let setup = Setup::new(vec![]);
    let thinking = ContentBlock::Thinking {
        thinking: "hm".into(),
        signature: String::new(),
    };
    setup
        .model
        .play([reply(vec![thinking], StopReason::MaxTokens), say("done")]);
    assert_eq!(setup.prompted().run_turn(on()).await.text, "done");
    assert_valid(&setup.model.last_request().messages);
}

#[tokio::test]
async fn a_refusal_or_a_full_context_fails_the_turn_and_its_calls_get_results() {
    for (stop, words) in [
        (StopReason::Refusal, "declined to answer and said: no"),
        (
            StopReason::ModelContextWindowExceeded,
            "exceeds the model's context window",
        ),
    ] {
        let setup = Setup::new(vec![echo()]);
        let content = vec![
            ContentBlock::text("no"),
            tool_use("a", "Echo", json!({"text": "x"})),
        ];
        setup.model.play([reply(content, stop), say("later")]);
        let mut session = setup.prompted();
        let outcome = session.run_turn(on()).await;
        let Err(TurnStop::Failed(error)) = &outcome.end else {
            panic!("{outcome:?}");
        };
        assert!(matches!(
            error,
            AgentError::Refused(_) | AgentError::ContextFull
        ));
        assert!(error.to_string().contains(words), "{error}");
        session.deliver(vec![Injected::prompt("else")]).unwrap();
        session.run_turn(on()).await;
        let request = setup.model.last_request();
        assert_valid(&request.messages);
        assert!(results(&request.messages[2])[0].1.contains("was not run"));
    }
}

//! Tool calls and their results.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use swarm_agent::{AgentError, Injected, Session, TurnStop};
use swarm_model::{ContentBlock, ModelEvent, StopReason};
use swarm_protocol::AgentEvent;

use crate::model::{COST, call, reply, response, say, tool_use};
use crate::setup::{Setup, on};
use crate::tools::{Log, broken, change, crowd, echo, meet};
use crate::valid::{assert_valid, results};

fn text(text: &str) -> serde_json::Value {
    json!({ "text": text })
}

#[tokio::test]
async fn adjacent_read_only_calls_run_in_parallel_and_keep_their_order() {
    let setup = Setup::new(vec![meet(3)]);
    setup.model.play([
        call([
            ("a", "Meet", text("one")),
            ("b", "Meet", text("two")),
            ("c", "Meet", text("three")),
        ]),
        say("met"),
    ]);
    let outcome = setup.prompted().run_turn(on()).await;
    assert_eq!(outcome.text, "met");
    let request = setup.model.last_request();
    assert_eq!(
        results(&request.messages[2]),
        [
            ("a", "one", false),
            ("b", "two", false),
            ("c", "three", false)
        ]
    );
}

#[tokio::test]
async fn parallel_calls_are_limited() {
    let log = Log::default();
    let mut setup = Setup::new(vec![crowd(log.clone())]);
    setup.limits.parallel_calls = 2;
    let calls = ["a", "b", "c", "d", "e"].map(|id| tool_use(id, "Crowd", json!({})));
    setup
        .model
        .play([reply(calls.to_vec(), StopReason::ToolUse), say("done")]);
    setup.prompted().run_turn(on()).await;
    let counts = log.lock().clone();
    assert_eq!(counts.len(), 5);
    assert_eq!(counts.iter().max().unwrap(), "2");
}

#[tokio::test]
async fn mutating_calls_run_sequentially_in_order() {
    let log = Log::default();
    let setup = Setup::new(vec![change(log.clone()), echo()]);
    setup.model.play([
        call([
            ("a", "Change", text("1")),
            ("b", "Echo", text("between")),
            ("c", "Change", text("2")),
            ("d", "Change", text("3")),
        ]),
        say("done"),
    ]);
    setup.prompted().run_turn(on()).await;
    assert_eq!(
        *log.lock(),
        ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]
    );
    let request = setup.model.last_request();
    let ids: Vec<_> = results(&request.messages[2]).iter().map(|r| r.0).collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn unknown_tools_invalid_input_and_panics_give_error_results() {
    let setup = Setup::new(vec![echo(), broken()]);
    let calls = vec![
        tool_use("a", "Fly", json!({})),
        tool_use("b", "Echo", json!("{\"text\": ")),
        tool_use("c", "Broken", json!({})),
        tool_use("d", "Echo", text("still here")),
    ];
    setup
        .model
        .play([reply(calls, StopReason::ToolUse), say("ok")]);
    let outcome = setup.prompted().run_turn(on()).await;
    assert!(outcome.is_finished());
    let request = setup.model.last_request();
    assert_valid(&request.messages);
    let got = results(&request.messages[2]);
    assert!(got[0].1.contains("no tool `Fly`") && got[0].1.contains("Echo") && got[0].2);
    assert!(
        got[1].1.contains("not a JSON object") && got[1].2,
        "{:?}",
        got[1]
    );
    assert!(
        got[2].1.contains("a wheel came off") && got[2].2,
        "{:?}",
        got[2]
    );
    assert_eq!(got[3], ("d", "still here", false));
}

#[tokio::test]
async fn each_call_emits_start_and_end_events() {
    let setup = Setup::new(vec![echo()]);
    setup
        .model
        .play([call([("a", "Echo", text("hi"))]), say("done")]);
    setup.prompted().run_turn(on()).await;
    let shown: Vec<_> = setup
        .watcher
        .events()
        .into_iter()
        .filter(|event| {
            matches!(
                event,
                AgentEvent::ToolStarted { .. } | AgentEvent::ToolFinished { .. }
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            AgentEvent::ToolStarted {
                id: "a".into(),
                tool: "Echo".into(),
                line: "Echo {\"text\":\"hi\"}".into()
            },
            AgentEvent::ToolFinished {
                id: "a".into(),
                tool: "Echo".into(),
                ok: true,
                line: "echoed".into(),
                detail: Vec::new(),
            },
        ]
    );
}

#[tokio::test]
async fn totals_add_up_across_turns_and_restarts() {
    let setup = Setup::new(vec![echo()]);
    setup
        .model
        .play([call([("a", "Echo", text("hi"))]), say("one"), say("two")]);
    let mut session = setup.prompted();
    let first = session.run_turn(on()).await.spent;
    assert_eq!((first.requests, first.tool_calls), (2, 1));
    assert_eq!(first.usage.total(), 2 * COST.total());
    drop(session);
    let mut session = setup.prompted();
    assert_eq!(session.totals(), first);
    let second = session.run_turn(on()).await.spent;
    assert_eq!((second.requests, second.tool_calls), (1, 0));
    assert_eq!(second.usage, COST);
    assert_eq!(session.totals().since(first), second);
}

#[tokio::test]
async fn the_last_text_is_kept_if_the_last_response_is_empty() {
    let setup = Setup::new(vec![echo()]);
    let report = vec![
        ContentBlock::text("the report"),
        tool_use("a", "Echo", text("x")),
    ];
    setup.model.play([
        reply(report, StopReason::ToolUse),
        reply(vec![], StopReason::EndTurn),
        say("next"),
    ]);
    let mut session = setup.prompted();
    assert_eq!(session.run_turn(on()).await.text, "the report");
    assert!(!session.needs_turn());
    session.deliver(vec![Injected::prompt("more")]).unwrap();
    session.run_turn(on()).await;
    assert_valid(&setup.model.last_request().messages);
}

#[tokio::test]
async fn a_turn_without_input_fails() {
    let setup = Setup::new(vec![]);
    let mut session = setup.open();
    let outcome = session.run_turn(on()).await;
    assert!(matches!(
        outcome.end,
        Err(TurnStop::Failed(AgentError::NothingToAnswer))
    ));
    assert!(setup.model.requests().is_empty());
}

#[test]
fn duplicate_tool_names_are_rejected() {
    let setup = Setup::new(vec![echo(), echo()]);
    let error = Session::open(setup.transcript(), setup.parts()).unwrap_err();
    assert!(error.to_string().contains("`Echo`"), "{error}");
}

#[tokio::test]
async fn a_turn_can_run_in_a_spawned_task() {
    let setup = Setup::new(vec![]);
    let streamed = Ok(ModelEvent::Completed(response(
        vec![ContentBlock::text("hi")],
        StopReason::EndTurn,
    )));
    setup
        .model
        .play([crate::model::Reply::Events(vec![streamed])]);
    let session = Arc::new(Mutex::new(Some(setup.prompted())));
    let mut session = session.lock().take().unwrap();
    let outcome = tokio::spawn(async move { session.run_turn(on()).await });
    assert_eq!(outcome.await.unwrap().text, "hi");
}

//! The same work once more with models behind the chat completions API, as a server on the user's own machine has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply};

use super::places::{AtWork, assert_done};
use crate::scene::{spawn_over, team_with, wait_for_state, world};

#[test]
fn a_team_works_over_the_chat_completions_api() {
    let work = AtWork::over_chat();
    let finished = work.run("headless", &[], || {});
    assert_done(&work, &finished);
    assert_eq!(work.api.refused(), [""; 0], "what a strict server refuses");
    let report = finished.json();
    let tokens = report["usage"]["input_tokens"].as_u64().unwrap();
    assert!(tokens > 0, "{report}");
    let requests = work.api.requests();
    assert!(requests.len() >= 12, "{}", requests.len());
    for recorded in &requests {
        assert_eq!(recorded.path, "/v1/chat/completions");
        assert_eq!(recorded.header("authorization"), None, "nobody set a key");
        let sent = &recorded.sent;
        assert_eq!(sent["model"], "gpt-oss:20b");
        assert_eq!(sent["stream_options"]["include_usage"], true);
        assert!(sent["max_tokens"].as_u64().unwrap() > 0);
        assert_eq!(sent["messages"][0]["role"], "system");
        let text = sent.to_string();
        assert!(
            !text.contains("A team of three will do."),
            "thoughts stay here"
        );
    }
}

#[test]
fn a_conversation_over_the_chat_completions_api_only_grows() {
    let work = AtWork::over_chat();
    work.run("headless", &[], || {}).ok();
    for agent in ["team-lead", "explorer", "implementer", "tester"] {
        let requests = work.api.requests_of(agent);
        for pair in requests.windows(2) {
            assert_eq!(pair[0].sent["tools"], pair[1].sent["tools"], "{agent}");
            let said = |at: usize| pair[at].sent["messages"].as_array().unwrap();
            assert!(said(1).starts_with(said(0)), "{agent}: {:#?}", said(1));
        }
    }
}

fn run(api: &FakeApi) -> swarm_tests::stage::Finished {
    let world = world().with_chat_api(api);
    let arguments = [
        "run",
        "go",
        "--model",
        "openai/gpt-oss:20b",
        "--backend",
        "headless",
        "--output",
        "json",
    ];
    world.swarm(&arguments)
}

#[test]
fn a_call_with_invalid_json_input_is_answered_and_the_turn_goes_on() {
    let api = FakeApi::start(|ask: &Ask| match ask.number {
        1 => Reply::tool("call_1", "Read", json!("not an object")),
        _ => Reply::text("understood"),
    });
    let report = run(&api).json();
    assert_eq!(report["result"], "understood");
    let asked = &api.requests_of("team-lead")[1];
    let (result, is_error) = asked.ask.result_of("call_1").unwrap();
    assert!(is_error && result.contains("JSON"), "{result}");
    let call = &asked.sent["messages"][2]["tool_calls"][0];
    let arguments: Value =
        serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert!(arguments.is_object(), "servers parse it: {arguments}");
}

#[test]
fn a_broken_or_failed_response_is_retried_and_counted() {
    let api = FakeApi::start(|ask: &Ask| {
        let whole = Reply::text("a long enough answer to be cut");
        match ask.number {
            1 => Reply::refusal(429).retry_after("0.01"),
            2 => whole.cut_after(2),
            3 => whole.fails_in_stream(2, "server_error"),
            _ => whole,
        }
    });
    let report = run(&api).json();
    assert_eq!(report["result"], "a long enough answer to be cut");
    assert_eq!(api.requests().len(), 4);
}

#[test]
fn a_member_that_waits_for_its_model_says_so_and_continues() {
    let was_seen = Arc::new(AtomicBool::new(false));
    let may_go_on = Arc::clone(&was_seen);
    let (api, world) = team_with(move |_: &Ask| {
        if may_go_on.load(Ordering::SeqCst) {
            Reply::text("done")
        } else {
            Reply::refusal(429).retry_after("1")
        }
    });
    spawn_over(&world, "bob");
    let detail = world.wait_for("it is throttled", || {
        let report = world.team("demo").state("bob");
        (report["state"] == "throttled").then(|| report["detail"].to_string())
    });
    was_seen.store(true, Ordering::SeqCst);
    assert!(
        detail.contains("retries in") && detail.contains("made up by the test"),
        "{detail}"
    );
    wait_for_state(&world, "bob", "idle");
    assert!(api.requests_of("bob").len() >= 2, "{}", api.summary());
    world.swarm(&["kill", "--all"]).ok();
}

use std::io::{Read as _, Write as _};

use serde_json::json;

use super::*;
use crate::fake_api::reply::{Block, Gate};

fn post(api: &FakeApi, body: &Value) -> TcpStream {
    post_to(api, "/v1/messages", body)
}

fn post_to(api: &FakeApi, path: &str, body: &Value) -> TcpStream {
    let mut connection = TcpStream::connect(api.address).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nx-api-key: key\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(body.as_bytes()).unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    connection
}

fn read_all(mut connection: TcpStream) -> String {
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

fn body(agent: &str) -> Value {
    json!({"model": "m", "system": format!("agent id {agent}@t"), "messages": [{"role": "user", "content": "hi"}]})
}

#[test]
fn a_request_is_recorded_and_answered_as_a_stream() {
    let api =
        FakeApi::start(|ask: &Ask| Reply::text(format!("hello {} {}", ask.agent, ask.number)));
    let answer = read_all(post(&api, &body("bob")));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("event: message_start") && answer.ends_with("0\r\n\r\n"),
        "{answer}"
    );
    let recorded = api.wait_for("bob's request", "bob", |_| true);
    assert_eq!(recorded.header("x-api-key"), Some("key"));
    assert_eq!(recorded.ask.news(), "hi");
    assert!(read_all(post(&api, &body("bob"))).contains("bob 2"));
    assert!(read_all(post(&api, &body("eve"))).contains("eve 1"));
    assert_eq!(api.requests_of("bob").len(), 2);
}

#[test]
fn a_reply_is_sent_in_the_api_of_the_request() {
    let api = FakeApi::start(|ask: &Ask| match ask.agent.as_str() {
        "eve" => Reply::refusal(429),
        _ => Reply::tool(
            "call_1",
            "Read",
            json!({"file_path": "/a/long/enough/path"}),
        ),
    });
    let chat = |agent: &str| {
        let body = json!({"model": "m", "messages": [
            {"role": "system", "content": format!("agent id {agent}@t")}, {"role": "user", "content": "hi"}]});
        read_all(post_to(&api, "/v1/chat/completions", &body))
    };
    let answer = chat("bob");
    assert!(
        answer.contains("\"finish_reason\":\"tool_calls\"") && answer.contains("data: [DONE]"),
        "{answer}"
    );
    assert_eq!(api.requests_of("bob")[0].ask.news(), "hi");
    let limited = chat("eve");
    assert!(
        limited.contains("HTTP/1.1 429") && limited.contains("\"type\":\"rate_limit_error\""),
        "{limited}"
    );
    let wrong = json!({"messages": [{"role": "tool", "tool_call_id": "x", "content": ""}]});
    let refused = read_all(post_to(&api, "/v1/chat/completions", &wrong));
    assert!(refused.contains("HTTP/1.1 400"), "{refused}");
    assert_eq!(api.refused(), ["message 0 answers no open call"]);
}

#[test]
fn error_responses_have_their_status_and_header() {
    let api = FakeApi::start(|_: &Ask| Reply::refusal(429).retry_after("3"));
    let answer = read_all(post(&api, &body("bob")));
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(
        answer.contains("retry-after: 3\r\n") && answer.contains("rate_limit_error"),
        "{answer}"
    );
}

#[test]
fn a_stream_can_fail_or_be_cut() {
    let api = FakeApi::start(|ask: &Ask| {
        let whole = Reply::blocks([Block::text("some text")]);
        if ask.number == 1 {
            whole.fails_in_stream(3, "overloaded_error")
        } else {
            whole.cut_after(3)
        }
    });
    let failed = read_all(post(&api, &body("bob")));
    assert!(
        failed.contains("overloaded_error") && !failed.contains("message_stop"),
        "{failed}"
    );
    let cut = read_all(post(&api, &body("bob")));
    assert!(
        cut.contains("content_block_start") && !cut.ends_with("0\r\n\r\n"),
        "{cut}"
    );
}

#[test]
fn a_delayed_reply_is_sent_when_its_gate_opens() {
    let gate = Gate::closed();
    let api = FakeApi::start({
        let gate = gate.clone();
        move |_: &Ask| Reply::text("late").held_by(&gate, 2)
    });
    let mut connection = post(&api, &body("bob"));
    let mut first = [0; 12];
    connection.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    gate.open();
    assert!(read_all(connection).contains("message_stop"));
}

#[test]
fn other_requests_are_rejected() {
    let api = FakeApi::start(|_: &Ask| Reply::text("x"));
    let mut connection = TcpStream::connect(api.address).unwrap();
    connection
        .write_all(b"GET /v1/models HTTP/1.1\r\n\r\n")
        .unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    assert!(read_all(connection).starts_with("HTTP/1.1 404"));
    assert_eq!(api.requests().len(), 0);
}

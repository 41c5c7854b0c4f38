//! The client against a server on the loopback interface.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::MessagesApiConfig;
use super::played::{collect_response, event, prose_answer, refusal};
use crate::error::ModelError;
use crate::message::ContentBlock;
use crate::model::{Model, ModelEvent, ModelEvents, StopReason};
use crate::remote::fake_server::{FakeServer, Item, Reply, completed, failed, short_request};
use crate::remote::{Connection, Remote, RetryPolicy, Secret};

pub(super) type MessagesApi = Remote<super::MessagesApi>;

const KEY: &str = "sk-ant-secret-key";

/// A retry policy with short waits.
fn quick(attempts: u32) -> RetryPolicy {
    RetryPolicy {
        attempts,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(2),
        longest_retry_after: Duration::from_secs(1),
        jitter: 0.0,
    }
}

pub(super) fn config(server: &FakeServer) -> MessagesApiConfig {
    MessagesApiConfig {
        base_url: format!("http://{}", server.address),
        api_key: Some(Secret::new(KEY)),
        connection: Connection {
            retry: quick(3),
            ..Connection::to_service()
        },
        ..MessagesApiConfig::default()
    }
}

fn client(server: &FakeServer) -> MessagesApi {
    MessagesApi::new(config(server)).unwrap()
}

async fn ask(client: &MessagesApi) -> Vec<Item> {
    stream(client).collect().await
}

fn retries(items: &[Item]) -> Vec<(u32, Duration)> {
    items
        .iter()
        .filter_map(|item| match item {
            Ok(ModelEvent::Retrying { attempt, wait, .. }) => Some((*attempt, *wait)),
            _ => None,
        })
        .collect()
}

pub(super) fn stream(client: &MessagesApi) -> ModelEvents {
    client.stream(short_request("claude-x"), CancellationToken::new())
}

fn with_header(reply: Reply, name: &'static str, value: &str) -> Reply {
    let Reply::Whole(status, mut headers, body) = reply else {
        unreachable!("a refusal is a whole reply")
    };
    headers.push((name, value.to_owned()));
    Reply::Whole(status, headers, body)
}

/// A rate limit with a header.
pub(super) fn limited(header: &'static str, value: &str) -> Reply {
    with_header(refusal(429, "rate_limit_error", "slow"), header, value)
}

/// What the server says if it is overloaded during an answer.
fn overload() -> String {
    event(&json!({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}))
}

pub(super) fn answer(text: &str) -> Reply {
    Reply::Events(vec![prose_answer(text).into_bytes()])
}

#[tokio::test]
async fn an_answer_streams_and_completes() {
    let bytes = prose_answer("Grüße").into_bytes();
    let pieces = bytes.chunks(11).map(<[u8]>::to_vec).collect();
    let server = FakeServer::start(vec![Reply::Events(pieces)]).await;
    let items = ask(&client(&server)).await;
    assert_eq!(items[0], Ok(ModelEvent::TextDelta("Grüße".into())));
    let response = completed(&items);
    assert_eq!(response.content, [ContentBlock::text("Grüße")]);
    assert_eq!(response.stop_reason, StopReason::EndTurn);
    assert_eq!(response.model, "claude-x-20260101");
    assert_eq!(
        serde_json::to_value(response.usage).unwrap(),
        json!({"input_tokens":12,"output_tokens":9,"cache_read_input_tokens":40,"cache_creation_input_tokens":3})
    );
}

#[tokio::test]
async fn a_request_has_its_headers_and_no_agent_name() {
    let server = FakeServer::start(vec![answer("hi")]).await;
    ask(&client(&server)).await;
    let asked = server.requests().remove(0);
    assert!(asked.head.starts_with("POST /v1/messages HTTP/1.1"));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(asked.header("accept-encoding"), None);
    assert_eq!(asked.json()["stream"], true);
    assert!(!String::from_utf8_lossy(&asked.body).contains("explorer"));
}

#[tokio::test]
async fn one_connection_serves_request_after_request() {
    let server = FakeServer::start(vec![answer("hi")]).await;
    let client = client(&server);
    for _ in 0..3 {
        completed(&ask(&client).await);
    }
    let connections: Vec<usize> = server.requests().iter().map(|a| a.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[tokio::test]
async fn an_answer_truncated_after_any_byte_is_retried() {
    let bytes = prose_answer("hi é").into_bytes();
    let mut replies: Vec<Reply> = Vec::new();
    for at in 0..bytes.len() {
        replies.push(Reply::Cut(bytes[..at].to_vec()));
        replies.push(answer("whole"));
    }
    let server = FakeServer::start(replies).await;
    let client = client(&server);
    for at in 0..bytes.len() {
        let items = ask(&client).await;
        assert_eq!(completed(&items).text(), "whole", "cut after {at} bytes");
        assert_eq!(retries(&items).len(), 1, "cut after {at} bytes");
        // Text emitted before the interruption is void: `Retrying` follows it.
        let is_retry = |item: &Item| matches!(item, Ok(ModelEvent::Retrying { .. }));
        let retrying = items.iter().position(is_retry).unwrap();
        let after = &items[retrying + 1..];
        assert_eq!(after.len(), 2, "{after:?}");
    }
}

#[tokio::test]
async fn a_stream_that_never_completes_is_one_clear_error() {
    let cut = prose_answer("hi").replace("message_stop", "message_halt");
    let server = FakeServer::start(vec![Reply::Events(vec![cut.into_bytes()])]).await;
    let items = ask(&client(&server)).await;
    assert!(matches!(
        failed(&items),
        ModelError::BadStream { attempts: 3, .. }
    ));
    assert_eq!(server.requests().len(), 3);
    let bodies: Vec<_> = server.requests().into_iter().map(|a| a.body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn a_rate_limit_waits_as_long_as_the_server_asks() {
    let limited = limited("retry-after", "0.05");
    let server = FakeServer::start(vec![limited.clone(), limited, answer("hi")]).await;
    let begun = Instant::now();
    let items = ask(&client(&server)).await;
    assert_eq!(completed(&items).text(), "hi");
    let wait = Duration::from_millis(50);
    assert_eq!(retries(&items), [(2, wait), (3, wait)]);
    assert!(begun.elapsed() >= wait * 2);
}

#[tokio::test]
async fn a_persistent_rate_limit_reports_the_requested_wait() {
    let server = FakeServer::start(vec![limited("retry-after", "3600")]).await;
    let mut config = config(&server);
    config.connection.retry.longest_retry_after = Duration::from_millis(1);
    let items = ask(&MessagesApi::new(config).unwrap()).await;
    assert_eq!(
        failed(&items),
        &ModelError::RateLimited {
            message: "slow".into(),
            retry_after: Some(Duration::from_hours(1)),
            attempts: 3,
        }
    );
    assert!(failed(&items).is_transient());
}

#[tokio::test]
async fn every_transient_refusal_is_retried() {
    for (status, kind) in [
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, ""),
        (503, ""),
        (529, "overloaded_error"),
    ] {
        let server = FakeServer::start(vec![refusal(status, kind, "later"), answer("hi")]).await;
        let items = ask(&client(&server)).await;
        assert_eq!(completed(&items).text(), "hi", "{status}");
        assert_eq!(retries(&items).len(), 1, "{status}");
    }
    let server = FakeServer::start(vec![Reply::HangUp, answer("hi")]).await;
    assert_eq!(completed(&ask(&client(&server)).await).text(), "hi");
}

#[tokio::test]
async fn an_overload_inside_the_stream_is_retried_before_and_after_content() {
    let whole = prose_answer("partial");
    let overload = overload();
    let (before_stop, _) = whole.split_once("event: content_block_stop").unwrap();
    for begun in ["", before_stop] {
        let broken = Reply::Events(vec![format!("{begun}{overload}").into_bytes()]);
        let server = FakeServer::start(vec![broken, answer("hi")]).await;
        let items = ask(&client(&server)).await;
        assert_eq!(completed(&items).text(), "hi");
        assert_eq!(retries(&items).len(), 1);
    }
    let broken = Reply::Events(vec![overload.into_bytes()]);
    let server = FakeServer::start(vec![broken]).await;
    assert!(matches!(
        failed(&ask(&client(&server)).await),
        ModelError::Overloaded { attempts: 3, .. }
    ));
}

#[tokio::test]
async fn a_permanent_refusal_inside_the_stream_is_final() {
    let refused = event(
        &json!({"type":"error","error":{"type":"invalid_request_error","message":"bad tool"},"request_id":"req_1"}),
    );
    let server = FakeServer::start(vec![Reply::Events(vec![refused.into_bytes()])]).await;
    assert_eq!(
        ask(&client(&server)).await,
        [Err(ModelError::InvalidRequest(
            "bad tool (request req_1)".into()
        ))]
    );
}

#[tokio::test]
async fn final_refusals_are_not_retried_and_never_show_the_key() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (422, ""),
    ] {
        let words = format!("key {KEY} is not good");
        let server = FakeServer::start(vec![refusal(status, kind, &words)]).await;
        let items = ask(&client(&server)).await;
        assert_eq!(items.len(), 1, "{status}");
        assert_eq!(server.requests().len(), 1, "{status}");
        let shown = format!("{} {:?}", failed(&items), failed(&items));
        assert!(!shown.contains(KEY), "{shown}");
        assert!(shown.contains("[secret] is not good"), "{shown}");
    }
}

#[tokio::test]
async fn a_key_at_the_end_of_a_truncated_message_is_not_shown_in_part() {
    let words = format!("{} {KEY}", "x".repeat(393));
    let server = FakeServer::start(vec![refusal(401, "authentication_error", &words)]).await;
    let shown = failed(&ask(&client(&server)).await).to_string();
    assert!(!shown.contains("sk-"), "{shown}");
}

#[tokio::test]
async fn the_request_id_is_kept_for_the_providers_support() {
    let refused = refusal(400, "invalid_request_error", "bad");
    let server = FakeServer::start(vec![with_header(refused, "request-id", "req_011")]).await;
    let error = failed(&ask(&client(&server)).await).to_string();
    assert!(error.contains("req_011"), "{error}");
}

#[tokio::test]
async fn a_silent_server_is_retried_and_then_reported() {
    let begun = prose_answer("hi");
    let (head, _) = begun.split_once("event: content_block_delta").unwrap();
    let server = FakeServer::start(vec![
        Reply::Stall(head.as_bytes().to_vec()),
        Reply::Stall(Vec::new()),
    ])
    .await;
    let mut config = config(&server);
    config.connection.idle_timeout = Duration::from_millis(20);
    config.connection.retry.attempts = 2;
    let items = ask(&MessagesApi::new(config).unwrap()).await;
    let ModelError::IdleTimeout { attempts: 2, .. } = failed(&items) else {
        panic!("{items:?}")
    };
    assert!(failed(&items).to_string().contains("0.02 s"));
}

#[tokio::test]
async fn cancelling_ends_the_stream_and_closes_the_connection() {
    let begun = prose_answer("hi");
    let (head, _) = begun.split_once("event: content_block_stop").unwrap();
    let server = FakeServer::start(vec![Reply::Stall(head.as_bytes().to_vec())]).await;
    let cancel = CancellationToken::new();
    let mut events = client(&server).stream(short_request("claude-x"), cancel.clone());
    let first = events.next().await;
    assert_eq!(first, Some(Ok(ModelEvent::TextDelta("hi".into()))));
    server.stalled.notified().await;
    cancel.cancel();
    let cost = events.next().await;
    assert!(matches!(cost, Some(Ok(ModelEvent::Unanswered { .. }))));
    assert_eq!(events.next().await, Some(Err(ModelError::Cancelled)));
    assert_eq!(events.next().await, None);
    // The server notices that the connection was closed.
    server.stalled.notified().await;
}

#[tokio::test]
async fn cancelling_ends_the_wait_between_attempts() {
    let server = FakeServer::start(vec![refusal(529, "overloaded_error", "busy")]).await;
    let mut config = config(&server);
    config.connection.retry.first_wait = Duration::from_hours(1);
    config.connection.retry.longest_wait = Duration::from_hours(1);
    let cancel = CancellationToken::new();
    let mut events = MessagesApi::new(config)
        .unwrap()
        .stream(short_request("claude-x"), cancel.clone());
    assert!(matches!(
        events.next().await,
        Some(Ok(ModelEvent::Retrying { .. }))
    ));
    cancel.cancel();
    assert_eq!(events.next().await, Some(Err(ModelError::Cancelled)));
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = FakeServer::start(vec![Reply::Stall(
        prose_answer("hi").into_bytes()[..300].to_vec(),
    )])
    .await;
    let mut events = stream(&client(&server));
    let wait_for_stall = server.stalled.notified();
    tokio::select! {
        () = wait_for_stall => {}
        item = events.next() => panic!("{item:?}"),
    }
    drop(events);
    server.stalled.notified().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named_without_secrets() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = MessagesApi::new(MessagesApiConfig {
        base_url: format!("http://{address}"),
        api_key: Some(Secret::new(KEY)),
        connection: Connection {
            retry: quick(9),
            ..Connection::to_service()
        },
        ..MessagesApiConfig::default()
    })
    .unwrap();
    let items = ask(&client).await;
    let ModelError::Network {
        server,
        message,
        attempts,
        ..
    } = failed(&items)
    else {
        panic!("{items:?}")
    };
    assert_eq!(
        *attempts, 4,
        "there are few attempts to reach a local server"
    );
    assert_eq!(server, &format!("http://{address}"));
    assert!(message.contains("refused"), "{message}");
}

#[tokio::test]
async fn a_server_that_is_not_a_messages_api_is_reported_immediately() {
    let page = Reply::Whole(
        200,
        vec![("content-type", "text/html".to_owned())],
        b"<html>log in</html>".to_vec(),
    );
    let redirect = Reply::Whole(302, vec![("location", "http://x/".to_owned())], Vec::new());
    let nothing = Reply::Whole(404, vec![], b"not here".to_vec());
    for reply in [page, redirect, nothing] {
        let server = FakeServer::start(vec![reply]).await;
        let items = ask(&client(&server)).await;
        assert!(failed(&items).to_string().contains("ANTHROPIC_BASE_URL"));
        assert_eq!(server.requests().len(), 1);
    }
}

/// A client of this server with a proxy.
fn through(proxy: &FakeServer, no_proxy: Option<String>, base_url: &str) -> MessagesApi {
    let connection = Connection {
        proxy: Some(Secret::new(format!("http://{}", proxy.address))),
        no_proxy,
        retry: quick(1),
        ..Connection::to_service()
    };
    MessagesApi::new(MessagesApiConfig {
        base_url: base_url.to_owned(),
        connection,
        ..config(proxy)
    })
    .unwrap()
}

#[tokio::test]
async fn a_proxy_is_used_if_one_is_given() {
    let proxy = FakeServer::start(vec![answer("through the proxy")]).await;
    let client = through(&proxy, None, "http://model.invalid");
    assert_eq!(completed(&ask(&client).await).text(), "through the proxy");
    let asked = proxy.requests().remove(0).head;
    assert!(asked.starts_with("POST http://model.invalid/v1/messages"));
}

#[tokio::test]
async fn exempt_and_local_hosts_are_reached_without_the_proxy() {
    let proxy = FakeServer::start(vec![answer("through the proxy")]).await;
    let server = FakeServer::start(vec![answer("direct")]).await;
    let through = |base_url: &str| through(&proxy, Some("model.invalid".into()), base_url);
    for host in ["127.0.0.1", "localhost"] {
        let local = through(&format!("http://{host}:{}", server.address.port()));
        assert_eq!(completed(&ask(&local).await).text(), "direct", "{host}");
    }
    let exempt = through("http://model.invalid");
    assert!(matches!(
        failed(&ask(&exempt).await),
        ModelError::Network { .. }
    ));
    let other = through("http://other.invalid");
    assert_eq!(completed(&ask(&other).await).text(), "through the proxy");
}

#[tokio::test]
async fn tokens_of_failed_attempts_are_counted_too() {
    let whole = prose_answer("partial");
    let (cut, _) = whole.split_once("event: content_block_stop").unwrap();
    let overload = overload();
    let server = FakeServer::start(vec![
        Reply::Cut(cut.as_bytes().to_vec()),
        Reply::Events(vec![format!("{cut}{overload}").into_bytes()]),
        answer("hi"),
    ])
    .await;
    let usage = completed(&ask(&client(&server)).await).usage;
    assert_eq!(
        serde_json::to_value(usage).unwrap(),
        json!({"input_tokens":36,"output_tokens":11,"cache_read_input_tokens":120,"cache_creation_input_tokens":9})
    );
}

#[tokio::test]
async fn tokens_of_a_failed_request_are_reported_before_the_error() {
    let whole = prose_answer("partial");
    let (cut, _) = whole.split_once("event: content_block_stop").unwrap();
    let cuts = (0..3).map(|_| Reply::Cut(cut.as_bytes().to_vec()));
    let server = FakeServer::start(cuts.collect()).await;
    let items = ask(&client(&server)).await;
    let [.., Ok(ModelEvent::Unanswered { usage }), Err(_)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(
        (usage.input_tokens, usage.cache_read_input_tokens),
        (36, 120)
    );
}

#[tokio::test]
async fn collecting_returns_the_answer_or_the_error() {
    let refused = refusal(401, "authentication_error", "no");
    let server = FakeServer::start(vec![answer("hi"), refused]).await;
    let client = client(&server);
    let events = stream(&client);
    assert_eq!(collect_response(events).await.unwrap().text(), "hi");
    let refused = collect_response(stream(&client)).await;
    assert!(matches!(refused, Err(ModelError::Auth { .. })));
}

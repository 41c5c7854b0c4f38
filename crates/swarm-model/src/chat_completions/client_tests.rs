//! The client against a server on the loopback interface. The shared parts are tested with the
//! Messages API client.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ChatCompletionsConfig, OpenAiCompatible};
use crate::error::ModelError;
use crate::message::ContentBlock;
use crate::model::{Model, ModelEvent, StopReason};
use crate::remote::fake_server::{FakeServer, Item, Reply, completed, failed, short_request};
use crate::remote::{Connection, Remote, RetryPolicy, Secret};

const KEY: &str = "sk-secret-key";

fn config(server: &FakeServer) -> ChatCompletionsConfig {
    ChatCompletionsConfig {
        base_url: Some(format!("http://{}", server.address)),
        api_key: Some(Secret::new(KEY)),
        connection: Connection {
            retry: RetryPolicy {
                attempts: 3,
                first_wait: Duration::from_millis(1),
                ..RetryPolicy::default()
            },
            ..Connection::to_own_server()
        },
        vision: false,
    }
}

fn client(config: ChatCompletionsConfig) -> Remote<OpenAiCompatible> {
    Remote::new(OpenAiCompatible::new(config).unwrap()).unwrap()
}

async fn ask(client: &Remote<OpenAiCompatible>) -> Vec<Item> {
    client
        .stream(short_request("qwen3"), CancellationToken::new())
        .collect()
        .await
}

async fn ask_once(server: &FakeServer) -> Vec<Item> {
    ask(&client(config(server))).await
}

fn retries(items: &[Item]) -> usize {
    let retrying = |item: &&Item| matches!(item, Ok(ModelEvent::Retrying { .. }));
    items.iter().filter(retrying).count()
}

fn data(piece: &Value) -> String {
    format!("data: {piece}\n\n")
}

fn text(text: &str) -> String {
    data(
        &json!({"model": "qwen3-8b", "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}),
    )
}

fn end() -> String {
    let finish = data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    let usage =
        data(&json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}));
    format!("{finish}{usage}data: [DONE]\n\n")
}

fn answer(words: &str) -> Reply {
    Reply::Events(vec![format!("{}{}", text(words), end()).into_bytes()])
}

fn refusal(status: u16, body: &Value) -> Reply {
    let headers = vec![("content-type", "application/json".to_owned())];
    Reply::Whole(status, headers, body.to_string().into_bytes())
}

#[tokio::test]
async fn an_answer_streams_and_completes() {
    let bytes = format!(": keep-alive\n\n{}{}", text("Grüße"), end()).into_bytes();
    let pieces = bytes.chunks(11).map(<[u8]>::to_vec).collect();
    let server = FakeServer::start(vec![Reply::Events(pieces)]).await;
    let items = ask_once(&server).await;
    assert_eq!(items[0], Ok(ModelEvent::TextDelta("Grüße".into())));
    let response = completed(&items);
    assert_eq!(response.content, [ContentBlock::text("Grüße")]);
    assert_eq!(response.stop_reason, StopReason::EndTurn);
    assert_eq!(response.model, "qwen3-8b");
    assert_eq!(response.usage.total(), 15);
    let asked = server.requests().remove(0);
    assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1"));
    assert_eq!(
        asked.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(asked.json()["stream"], true);
    assert!(!String::from_utf8_lossy(&asked.body).contains("explorer"));
}

#[tokio::test]
async fn a_truncated_answer_is_retried_and_its_tokens_are_counted() {
    let told =
        data(&json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 1}}));
    let cut = Reply::Cut(format!("{}{told}", text("par")).into_bytes());
    let server = FakeServer::start(vec![cut, answer("whole")]).await;
    let items = ask_once(&server).await;
    assert_eq!(completed(&items).text(), "whole");
    assert_eq!(retries(&items), 1);
    assert_eq!(completed(&items).usage.total(), 13 + 15);
}

#[tokio::test]
async fn an_answer_without_its_last_line_is_accepted() {
    let finish = data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    let bytes = format!("{}{finish}", text("hi")).into_bytes();
    for reply in [
        Reply::Events(vec![bytes.clone()]),
        Reply::Cut(bytes.clone()),
    ] {
        let server = FakeServer::start(vec![reply]).await;
        let items = ask_once(&server).await;
        assert_eq!(completed(&items).text(), "hi");
        assert_eq!(completed(&items).usage.total(), 0);
        assert_eq!(retries(&items), 0);
    }
    let server = FakeServer::start(vec![Reply::Stall(bytes)]).await;
    let mut config = config(&server);
    config.connection.idle_timeout = Duration::from_millis(20);
    let items = ask(&client(config)).await;
    assert_eq!(completed(&items).text(), "hi", "the body stays open");
}

#[tokio::test]
async fn a_refused_part_is_omitted_immediately_and_in_later_requests() {
    let usage = refusal(
        422,
        &json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}),
    );
    let limit = refusal(
        400,
        &json!({"error": {"message": "This model's maximum context length is 4096 tokens. However, you requested 32019 tokens"}}),
    );
    let server = FakeServer::start(vec![usage, limit, answer("hi")]).await;
    let client = client(config(&server));
    let items = ask(&client).await;
    assert_eq!(completed(&items).text(), "hi");
    assert_eq!(retries(&items), 0, "there is no wait and no event");
    completed(&ask(&client).await);
    let has = |name: &str| -> Vec<bool> {
        let asked = server.requests();
        asked
            .iter()
            .map(|asked| asked.json().get(name).is_some())
            .collect()
    };
    assert_eq!(has("stream_options"), [true, false, false, false]);
    assert_eq!(has("max_tokens"), [true, true, false, false]);
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_reported_after_one_retry() {
    let long = refusal(
        400,
        &json!({"error": {"message": "This model's maximum context length is 4096 tokens."}}),
    );
    let server = FakeServer::start(vec![long]).await;
    let items = ask_once(&server).await;
    assert!(matches!(failed(&items), ModelError::ContextTooLong(_)));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_stream_error_is_final_or_retried_depending_on_its_message() {
    let error = |error: Value| {
        Reply::Events(vec![
            format!("{}{}data: [DONE]\n\n", text("par"), data(&error)).into_bytes(),
        ])
    };
    let busy = error(json!({"error": {"message": "out of memory", "code": 500}}));
    let server = FakeServer::start(vec![busy, answer("hi")]).await;
    let items = ask_once(&server).await;
    assert_eq!(
        (completed(&items).text().as_str(), retries(&items)),
        ("hi", 1)
    );
    let full = error(
        json!({"error": {"message": "Context size has been exceeded.", "type": "exceed_context_size_error", "code": 400}}),
    );
    let bare = FakeServer::start(vec![full]).await;
    let items = ask_once(&bare).await;
    assert!(
        matches!(failed(&items), ModelError::ContextTooLong(_)),
        "{items:?}"
    );
}

#[tokio::test]
async fn an_unstreamed_answer_or_error_with_a_success_status_is_understood() {
    let whole = json!({"model": "m", "choices": [{"index": 0, "message": {"content": "whole"}, "finish_reason": "stop"}]});
    let server = FakeServer::start(vec![refusal(200, &whole)]).await;
    assert_eq!(completed(&ask_once(&server).await).text(), "whole");
    // LM Studio sends this for a wrong path.
    let error = json!({"error": "Unexpected endpoint or method. (POST /v2/chat/completions)"});
    let server = FakeServer::start(vec![refusal(200, &error)]).await;
    let shown = failed(&ask_once(&server).await).to_string();
    assert!(shown.contains("Unexpected endpoint"), "{shown}");
}

#[tokio::test]
async fn a_refusal_never_shows_the_key() {
    let words = json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}});
    let server = FakeServer::start(vec![refusal(401, &words)]).await;
    let items = ask_once(&server).await;
    let shown = format!("{} {:?}", failed(&items), failed(&items));
    assert!(
        shown.contains("[secret]") && !shown.contains(KEY),
        "{shown}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_error_for_an_unreachable_server_names_it_and_what_to_check() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut config = ChatCompletionsConfig {
        base_url: Some(format!("http://{address}/v1")),
        ..ChatCompletionsConfig::default()
    };
    config.connection.retry.attempts = 1;
    let items = ask(&client(config)).await;
    let shown = failed(&items).to_string();
    assert!(shown.contains(&address.to_string()), "{shown}");
    assert!(
        shown.contains("OPENAI_BASE_URL") && shown.contains("in 1 attempt:"),
        "{shown}"
    );
}

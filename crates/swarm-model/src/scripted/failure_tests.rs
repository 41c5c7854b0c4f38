//! Simulated failures, and the pace of answers.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::play_tests::{ask, model, model_at, request, said};
use super::{Pace, ScriptedModel};
use crate::error::ModelError;
use crate::message::Message;
use crate::model::{Model, ModelEvent, StopReason};

const FAILURES: &str = r#"
[[turn]]
contains = "twice"
  [[turn.step]]
  say = "at last"
  fail = { kind = "overloaded", times = 2, message = "busy", wait_ms = 40, after_text = true }

[[turn]]
contains = "always"
step = [{ fail = { kind = "context_too_long", message = "full" } }]

[[turn]]
contains = "cut"
step = [{ say = "half a", stop = "max_tokens" }, { say = "whole" }]

[[turn]]
contains = "broken"
step = [{ call = [{ tool = "Read", broken_input = '{"file' }] }, { say = "sorry" }]

[[turn]]
contains = "empty"
step = [{ stop = "end_turn" }]
"#;

#[tokio::test]
async fn failures_are_simulated_within_one_request() {
    let twice = [Message::user_text("twice")];
    for _ in 0..2 {
        let items: Vec<_> = model(FAILURES)
            .stream(request("a", &twice), CancellationToken::new())
            .collect()
            .await;
        let retrying = |attempt| {
            Ok(ModelEvent::Retrying {
                attempt,
                wait: Duration::ZERO,
                reason: "busy".into(),
                is_overload: false,
            })
        };
        let word = |text: &str| Ok(ModelEvent::TextDelta(text.into()));
        let words = || vec![word("at "), word("last")];
        let (second, third) = (vec![retrying(2)], vec![retrying(3)]);
        let expected = [words(), second, words(), third, words()].concat();
        assert_eq!(items[..items.len() - 1], expected);
        assert!(matches!(items.last(), Some(Ok(ModelEvent::Completed(_)))));
    }
    let error = ask(&model(FAILURES), "a", &[Message::user_text("always")]).await;
    let message = "full".into();
    assert_eq!(error, Err(ModelError::ContextTooLong(message)));
}

#[tokio::test]
async fn unusual_stop_reasons_and_broken_calls_can_be_simulated() {
    let model = model(FAILURES);
    let cut = [Message::user_text("cut")];
    let response = ask(&model, "a", &cut).await.unwrap();
    assert_eq!(response.stop_reason, StopReason::MaxTokens);
    let broken = [Message::user_text("broken")];
    let response = ask(&model, "a", &broken).await.unwrap();
    assert_eq!(response.content[0].broken_input(), Some("{\"file"));
    let empty = [Message::user_text("empty")];
    let response = ask(&model, "a", &empty).await.unwrap();
    assert_eq!(response.content, []);
    assert_eq!(response.stop_reason, StopReason::EndTurn);
}

const SLOW: &str = r#"
chunk_ms = 100

[[turn]]
step = [{ wait_ms = 1000, think = "a b", say = "one two three" }]
"#;

#[tokio::test(start_paused = true)]
async fn the_pace_scales_waits_and_words() {
    for (pace, milliseconds) in [
        (Pace::HUMAN, 1500),
        (Pace::times(2.0), 3000),
        (Pace::INSTANT, 0),
    ] {
        let begun = Instant::now();
        let model = model_at(SLOW, pace);
        said(&model, "a", &[Message::user_text("x")]).await;
        assert_eq!(begun.elapsed().as_millis(), milliseconds, "{pace:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn text_is_streamed_word_by_word() {
    let model = model_at(SLOW, Pace::HUMAN);
    let begun = Instant::now();
    let asked = request("a", &[Message::user_text("x")]);
    let mut events = model.stream(asked, CancellationToken::new());
    let mut arrivals = Vec::new();
    while let Some(item) = events.next().await {
        match item.unwrap() {
            ModelEvent::TextDelta(word) | ModelEvent::ThinkingDelta(word) => {
                arrivals.push((word, begun.elapsed().as_millis()));
            }
            _ => {}
        }
    }
    let words = ["a ", "b", "one ", "two ", "three"].map(str::to_owned);
    let expected: Vec<_> = words
        .into_iter()
        .zip([1000, 1100, 1200, 1300, 1400])
        .collect();
    assert_eq!(arrivals, expected);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_wait_immediately() {
    let cancel = CancellationToken::new();
    let begun = Instant::now();
    let mut events = model_at(SLOW, Pace::times(1e6))
        .stream(request("a", &[Message::user_text("x")]), cancel.clone());
    tokio::select! {
        biased;
        item = events.next() => panic!("{item:?}"),
        () = std::future::ready(()) => {}
    }
    cancel.cancel();
    assert_eq!(events.next().await, Some(Err(ModelError::Cancelled)));
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[test]
fn a_scenario_is_read_from_its_file() {
    let path = std::env::temp_dir().join(format!("swarm-scenario-{}.toml", std::process::id()));
    let mut file = File::create(&path).unwrap();
    file.write_all(SLOW.as_bytes()).unwrap();
    let read = ScriptedModel::from_file(&path, Pace::INSTANT);
    std::fs::remove_file(&path).unwrap();
    read.unwrap();
    let missing = ScriptedModel::from_file(&path, Pace::INSTANT).unwrap_err();
    let shown = missing.to_string();
    assert!(shown.contains(path.to_str().unwrap()), "{shown}");
}

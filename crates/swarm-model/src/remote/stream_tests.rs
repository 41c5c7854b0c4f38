//! Event streams read from chunks of bytes, without a network.

use std::sync::Arc;

use futures::stream;
use parking_lot::Mutex;
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::drive::drive;
use crate::error::ModelError;
use crate::messages_api::answer::Answer;
use crate::messages_api::played::{event, prose_answer};
use crate::model::ModelEvent;

const IDLE: Duration = Duration::from_secs(90);

/// Slightly shorter than the idle timeout.
const ALMOST_IDLE: Duration = Duration::from_secs(89);

type Chunks = Vec<Result<Bytes, String>>;

/// Reads a stream and returns the emitted events and the outcome.
async fn read<S>(chunks: S) -> (Vec<ModelEvent>, Result<ModelResponse, Broken>)
where
    S: Stream<Item = Result<Bytes, String>> + Send + 'static,
{
    let outcome = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&outcome);
    let events: Vec<_> = drive(CancellationToken::new(), move |emit| async move {
        let mut answer = Answer::new("claude-x");
        let read = read_answer(chunks, &mut answer, IDLE, Usage::default(), &emit).await;
        *kept.lock() = Some(read);
        Err(ModelError::Cancelled)
    })
    .filter_map(|item| async { item.ok() })
    .collect()
    .await;
    let outcome = outcome.lock().take().unwrap();
    (events, outcome)
}

fn chunked(bytes: &[u8], size: usize) -> Chunks {
    bytes
        .chunks(size)
        .map(|chunk| Ok(Bytes::copy_from_slice(chunk)))
        .collect()
}

fn text_of(outcome: Result<ModelResponse, Broken>) -> String {
    outcome.unwrap().text()
}

fn cause(outcome: Result<ModelResponse, Broken>) -> Cause {
    match outcome {
        Err(Broken::Failed(Failure::Transient(transient))) => transient.cause,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_is_independent_of_its_division_into_chunks() {
    let bytes = prose_answer("Grüße 🧠 aus Köln").replace('\n', "\r\n");
    for size in 1..=bytes.len() {
        let (_, outcome) = read(stream::iter(chunked(bytes.as_bytes(), size))).await;
        assert_eq!(text_of(outcome), "Grüße 🧠 aus Köln", "chunks of {size}");
    }
}

#[tokio::test]
async fn a_truncated_stream_is_a_transient_failure_and_never_an_answer() {
    let bytes = prose_answer("hi é").into_bytes();
    for at in 0..bytes.len() {
        let (_, outcome) = read(stream::iter(chunked(&bytes[..at], 7))).await;
        assert_eq!(cause(outcome), Cause::Garbage, "cut after {at} bytes");
        let mut chunks = chunked(&bytes[..at], 7);
        chunks.push(Err("connection reset".into()));
        let (_, outcome) = read(stream::iter(chunks)).await;
        assert_eq!(cause(outcome), Cause::Connection, "reset after {at} bytes");
    }
}

#[tokio::test]
async fn leading_byte_order_marks_are_ignored() {
    for marks in 1..=3 {
        let bytes = format!("{}{}", "\u{feff}".repeat(marks), prose_answer("hi"));
        for size in 1..=12 {
            let (_, outcome) = read(stream::iter(chunked(bytes.as_bytes(), size))).await;
            assert_eq!(text_of(outcome), "hi", "{marks} marks, chunks of {size}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn silence_times_out_and_pings_reset_the_timeout() {
    let ping = event(&serde_json::json!({"type": "ping"}));
    let begun = tokio::time::Instant::now();
    let pings = stream::iter(0..5).then(move |_| {
        let ping = ping.clone();
        async move {
            tokio::time::sleep(ALMOST_IDLE).await;
            Ok(Bytes::from(ping))
        }
    });
    let (_, outcome) = read(pings.chain(stream::pending())).await;
    assert_eq!(cause(outcome), Cause::Silence(IDLE));
    let expected = ALMOST_IDLE * 5 + IDLE;
    let waited = begun.elapsed();
    assert!(
        waited >= expected && waited < expected + Duration::from_secs(1),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_left_open_does_not_delay_the_answer() {
    let begun = tokio::time::Instant::now();
    let chunks = stream::iter(chunked(prose_answer("hi").as_bytes(), 50));
    let (_, outcome) = read(chunks.chain(stream::pending())).await;
    assert_eq!(text_of(outcome), "hi");
    assert!(begun.elapsed() <= TAIL_TIMEOUT + Duration::from_millis(1));
}

#[tokio::test]
async fn an_answer_beyond_the_size_limit_is_aborted() {
    let chunks = || stream::iter(vec![Ok(Bytes::from_static(b"12345")); 2]);
    let sizes = |most| bounded(chunks(), most).map(|chunk| chunk.map(|c| c.len()).ok());
    assert_eq!(sizes(10).collect::<Vec<_>>().await, [Some(5), Some(5)]);
    assert_eq!(sizes(9).collect::<Vec<_>>().await, [Some(5), None]);
}

#[tokio::test]
async fn a_stream_that_is_not_utf8_is_refused() {
    let mut bytes = b"data: {\"type\":\"ping\",\"x\":\"".to_vec();
    bytes.extend([0xff, 0xfe]);
    bytes.extend(b"\"}\n\n");
    let (_, outcome) = read(stream::iter(chunked(&bytes, 1000))).await;
    assert_eq!(cause(outcome), Cause::Garbage);
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic_and_no_answer(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        lines in "(data: |event: |id:|\\{\"type\":\"message_stop\"\\}|\\{\"type\":\"ping\"\\}|\n|\r|\u{feff}|:|x){0,40}",
        size in 1usize..50,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for input in [bytes, lines.into_bytes()] {
            let (_, outcome) = runtime.block_on(read(stream::iter(chunked(&input, size))));
            prop_assert!(outcome.is_err());
        }
    }
}

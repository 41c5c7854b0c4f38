//! Reads the event stream of one answer.

use std::time::Duration;

use bytes::Bytes;
use eventsource_stream::{EventStream, EventStreamError};
use futures::{Stream, StreamExt};
use swarm_protocol::Usage;
use tokio::time::timeout;

use super::dialect::{Assembly, Step};
use super::failure::{Cause, Failure};
use super::refusal::Refusal;
use crate::drive::Emitter;
use crate::model::ModelResponse;

/// The most bytes one answer may have; far above what any model writes, far below what hurts.
pub(super) const LONGEST_ANSWER: usize = 32 * 1024 * 1024;

/// How long to wait for the end of the body after the end of the answer. A body read to its end leaves
/// the connection for the next request.
const TAIL: Duration = Duration::from_millis(20);

/// How long to wait for side matters once everything was said: token counts come at once or never.
const SIDE_MATTERS: Duration = Duration::from_secs(5);

/// Why reading ended without an answer.
#[derive(Debug)]
pub(super) enum Broken {
    /// The transport or the format failed.
    Failed(Failure),
    /// The server sent an error.
    Refused(Refusal),
}

/// Reads an answer to its end and emits what it shows on the way. Each wait for an event ends after `idle`. `before` is
/// what earlier attempts have used.
pub(super) async fn read_answer<S>(
    chunks: S,
    answer: &mut impl Assembly,
    idle: Duration,
    before: Usage,
    emit: &Emitter,
) -> Result<ModelResponse, Broken>
where
    S: Stream<Item = Result<Bytes, String>> + Send,
{
    let mut events = Box::pin(EventStream::new(bounded(
        without_bom(chunks),
        LONGEST_ANSWER,
    )));
    loop {
        let patience = if answer.is_spoken() {
            idle.min(SIDE_MATTERS)
        } else {
            idle
        };
        let failure = match timeout(patience, events.next()).await {
            Ok(Some(Ok(event))) => match answer.take(&event.data) {
                Ok(Step::Show(shown)) => {
                    let mut usage = before;
                    usage += answer.usage();
                    emit.count(usage);
                    for event in shown {
                        emit.emit(event);
                    }
                    continue;
                }
                Ok(Step::Refused(refusal)) => return Err(Broken::Refused(refusal)),
                Ok(Step::Complete(response)) => {
                    read_tail(events).await;
                    return Ok(response);
                }
                Err(message) => return Err(Broken::Failed(Failure::garbage(message))),
            },
            Ok(Some(Err(error))) => transport(error),
            Ok(None) => Failure::garbage("the stream ended before the answer was complete"),
            Err(_) => Failure::transient(Cause::Silence(idle), "the server fell silent"),
        };
        return answer.end().ok_or(Broken::Failed(failure));
    }
}

async fn read_tail<T, E>(mut events: impl Stream<Item = Result<T, E>> + Unpin) {
    let tail = async { while events.next().await.is_some_and(|item| item.is_ok()) {} };
    if timeout(TAIL, tail).await.is_err() {
        tracing::debug!("the server keeps the body open after the end of the answer");
    }
}

fn transport(error: EventStreamError<String>) -> Failure {
    match error {
        EventStreamError::Transport(message) => Failure::transient(Cause::Connection, message),
        EventStreamError::Utf8(_) => Failure::garbage("the stream is not UTF-8"),
        EventStreamError::Parser(_) => Failure::garbage("the stream is not made of events"),
    }
}

/// Ends a stream that grows beyond `most` bytes.
fn bounded<S>(chunks: S, most: usize) -> impl Stream<Item = Result<Bytes, String>> + Send
where
    S: Stream<Item = Result<Bytes, String>> + Send,
{
    let mut total = 0usize;
    chunks.map(move |chunk| {
        let chunk = chunk?;
        total = total.saturating_add(chunk.len());
        if total > most {
            return Err(format!("the answer is longer than {most} bytes"));
        }
        Ok(chunk)
    })
}

/// Takes byte-order marks off the start of the stream. The event parser would panic on one: it cuts a single
/// byte off a three-byte character.
fn without_bom<S>(chunks: S) -> impl Stream<Item = Result<Bytes, String>> + Send
where
    S: Stream<Item = Result<Bytes, String>> + Send,
{
    const BOM: &[u8] = "\u{feff}".as_bytes();
    let mut held: Option<Vec<u8>> = Some(Vec::new());
    chunks.map(move |chunk| {
        let chunk = chunk?;
        let Some(mut start) = held.take() else {
            return Ok(chunk);
        };
        start.extend_from_slice(&chunk);
        let mut rest = start.as_slice();
        while let Some(stripped) = rest.strip_prefix(BOM) {
            rest = stripped;
        }
        if BOM.starts_with(rest) {
            held = Some(rest.to_vec());
            return Ok(Bytes::new());
        }
        Ok(Bytes::copy_from_slice(rest))
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;

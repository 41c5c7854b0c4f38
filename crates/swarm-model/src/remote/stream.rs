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

/// Maximum size of an answer in bytes; far above what any model writes.
pub(super) const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// How long to wait for the end of the body after the end of the answer. A connection is reused
/// only if the body was read to its end.
const TAIL_TIMEOUT: Duration = Duration::from_millis(20);

/// How long to wait for metadata after the content is complete: token counts arrive promptly or not
/// at all.
const METADATA_TIMEOUT: Duration = Duration::from_secs(5);

/// Reason why a stream gave no answer.
#[derive(Debug)]
pub(super) enum Broken {
    /// The transport or the format failed.
    Failed(Failure),
    Refused(Refusal),
}

/// Reads an answer to its end and emits its events. Each wait for an event times out after `idle`.
/// `before` is the usage of earlier attempts.
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
        MAX_ANSWER_BYTES,
    )));
    loop {
        let idle_limit = if answer.is_content_complete() {
            idle.min(METADATA_TIMEOUT)
        } else {
            idle
        };
        let failure = match timeout(idle_limit, events.next()).await {
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
            Err(_) => Failure::transient(Cause::Silence(idle), "the server stopped sending"),
        };
        return answer.end().ok_or(Broken::Failed(failure));
    }
}

async fn read_tail<T, E>(mut events: impl Stream<Item = Result<T, E>> + Unpin) {
    let tail = async { while events.next().await.is_some_and(|item| item.is_ok()) {} };
    if timeout(TAIL_TIMEOUT, tail).await.is_err() {
        tracing::debug!("the server keeps the response open after the end of the answer");
    }
}

fn transport(error: EventStreamError<String>) -> Failure {
    match error {
        EventStreamError::Transport(message) => Failure::transient(Cause::Connection, message),
        EventStreamError::Utf8(_) => Failure::garbage("the stream is not UTF-8"),
        EventStreamError::Parser(_) => Failure::garbage("the stream does not consist of events"),
    }
}

/// Fails a stream that exceeds `most` bytes.
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

/// Removes byte-order marks from the start of the stream. The event parser would panic on one: it
/// removes a single byte of a three-byte character.
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

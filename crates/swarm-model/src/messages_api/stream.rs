//! Reads the event stream of one answer.

use std::time::Duration;

use bytes::Bytes;
use eventsource_stream::{EventStream, EventStreamError};
use futures::{Stream, StreamExt};
use tokio::time::timeout;

use super::answer::{Answer, Step};
use super::event::StreamEvent;
use super::failure::{Cause, Failure};
use super::status::ServerError;
use crate::drive::Emitter;
use crate::model::ModelResponse;

/// The most bytes one answer may have; far above what any model writes, far below what hurts.
const LONGEST_ANSWER: usize = 32 * 1024 * 1024;

/// How long to wait for the end of the body after the end of the answer. A body read to its end leaves
/// the connection for the next request.
const TAIL: Duration = Duration::from_millis(20);

/// Why reading ended without an answer.
#[derive(Debug)]
pub(super) enum Broken {
    /// The transport or the format failed.
    Failed(Failure),
    /// The server sent an `error` event.
    Refused(ServerError),
}

/// Reads an answer to its end and emits what it shows on the way. Each wait for an event ends after `idle`.
pub(super) async fn read_answer<S>(
    chunks: S,
    model: &str,
    idle: Duration,
    emit: &Emitter,
) -> Result<ModelResponse, Broken>
where
    S: Stream<Item = Result<Bytes, String>> + Send,
{
    let mut events = Box::pin(EventStream::new(bounded(
        without_bom(chunks),
        LONGEST_ANSWER,
    )));
    let mut answer = Answer::new(model);
    loop {
        let Ok(next) = timeout(idle, events.next()).await else {
            let silence = Failure::transient(Cause::Silence(idle), "the server fell silent");
            return Err(Broken::Failed(silence));
        };
        let data = match next {
            Some(Ok(event)) => event.data,
            Some(Err(error)) => return Err(Broken::Failed(transport(error))),
            None => {
                let cut = Failure::garbage("the stream ended before the answer was complete");
                return Err(Broken::Failed(cut));
            }
        };
        match step(&mut answer, &data).map_err(Broken::Failed)? {
            Step::Quiet => {}
            Step::Show(event) => emit.emit(event),
            Step::Refused(error) => return Err(Broken::Refused(error)),
            Step::Complete(response) => {
                let tail = async { while events.next().await.is_some_and(|item| item.is_ok()) {} };
                if timeout(TAIL, tail).await.is_err() {
                    tracing::debug!("the server keeps the body open after the end of the answer");
                }
                return Ok(response);
            }
        }
    }
}

fn step(answer: &mut Answer, data: &str) -> Result<Step, Failure> {
    let event: StreamEvent = serde_json::from_str(data)
        .map_err(|error| Failure::garbage(format!("an event is not the API's JSON ({error})")))?;
    answer.take(event).map_err(Failure::garbage)
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

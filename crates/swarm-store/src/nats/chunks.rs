//! Values that are too large for one message. They are stored in chunks, and the message has their
//! number and ID in headers. A process that replaces a value removes the chunks of older ones, including those
//! of writes that were never completed.

use async_nats::HeaderMap;
use async_nats::jetstream::message::StreamMessage;
use bytes::Bytes;

use super::requests::{Published, Requests};
use super::subjects;
use crate::records::{Answered, NoAnswer, WriteId};

const CHUNKS: &str = "Swarm-Chunks";
const CHUNK_ID: &str = "Swarm-Chunk-Id";

/// Part of the server's `max_payload` that a message may use: the server's own answers are larger
/// than the message that they contain.
const PART: usize = 2;

impl Requests {
    /// Returns the size in bytes of the largest value that is not stored in chunks.
    pub(super) async fn largest(&self) -> Answered<usize> {
        Ok(self.hub.client().await?.max_payload() / PART)
    }

    /// Returns [`Self::largest`] if the server has told it.
    pub(super) fn largest_now(&self) -> Option<usize> {
        Some(self.hub.last_client()?.max_payload() / PART)
    }

    /// Stores a value under a subject, in chunks if it is large.
    pub(super) async fn put(
        &self,
        subject: String,
        expected: u64,
        id: WriteId,
        value: Bytes,
    ) -> Answered<Published> {
        let largest = self.largest().await?;
        let is_large = value.len() > largest;
        if is_large {
            // Before the first chunk, because the write may stay unanswered.
            self.chunked.lock().insert(subject.clone());
        } else if !self.chunked.lock().contains(&subject) {
            let headers = HeaderMap::new();
            return self
                .publish(subject, Some(expected), id, headers, value)
                .await;
        }
        let published = if is_large {
            let put = self.put_in_chunks(&subject, expected, id, value, largest);
            Box::pin(put).await
        } else {
            let headers = HeaderMap::new();
            let published = self.publish(subject.clone(), Some(expected), id, headers, value);
            published.await.map(|published| (published, u64::MAX))
        };
        match published {
            Ok((Published::At(sequence), first)) => {
                // An earlier attempt may have written it before the chunks of this one.
                let removed = self
                    .remove_older_chunks(&subject, first.min(sequence))
                    .await;
                if removed && !is_large {
                    self.chunked.lock().remove(&subject);
                }
            }
            // Without an answer it may be written.
            Ok((Published::Conflict, _)) | Err(NoAnswer::Failed(_)) if is_large => {
                self.remove_unused_chunks(&subject, &id.to_string()).await;
            }
            Ok((Published::Conflict, _)) | Err(_) => {}
        }
        published.map(|(published, _)| published)
    }

    /// Returns also the sequence number of the first chunk.
    async fn put_in_chunks(
        &self,
        subject: &str,
        expected: u64,
        id: WriteId,
        value: Bytes,
        largest: usize,
    ) -> Answered<(Published, u64)> {
        let at = subjects::chunks_of(&self.team, subject);
        let mut number = 0;
        let mut first = u64::MAX;
        let mut rest = value;
        while !rest.is_empty() {
            let chunk = rest.split_to(largest.min(rest.len()));
            let (at, none) = (format!("{at}.{id}.{number}"), HeaderMap::new());
            let stored = self.publish(at, None, WriteId::new_v4(), none, chunk);
            if let Published::At(sequence) = stored.await? {
                first = first.min(sequence);
            }
            number += 1;
        }
        let mut headers = HeaderMap::new();
        headers.insert(CHUNKS, number.to_string());
        headers.insert(CHUNK_ID, id.to_string());
        let subject = subject.to_owned();
        let written = self.publish(subject, Some(expected), id, headers, Bytes::new());
        Ok((written.await?, first))
    }

    /// Removes the chunks of values that were written to a subject, or should have been, before a
    /// sequence number. A process that has stored such a chunk expects a value that has been replaced since,
    /// so nobody can complete its write any more. Returns whether it succeeded.
    async fn remove_older_chunks(&self, subject: &str, before: u64) -> bool {
        let all = format!("{}.>", subjects::chunks_of(&self.team, subject));
        let Ok(stream) = self.stream().await else {
            return false;
        };
        let purged = stream.purge().sequence(before).filter(all).await;
        purged
            .inspect_err(
                |error| tracing::warn!(%error, "chunks of older values are left on the hub"),
            )
            .is_ok()
    }

    /// Removes a value, and its chunks if there may be some.
    pub(super) async fn purge_record(&self, subject: String) -> Answered<()> {
        if self.chunked.lock().remove(&subject) {
            let chunks = format!("{}.>", subjects::chunks_of(&self.team, &subject));
            self.purge(chunks).await?;
        }
        self.begin_purge(&subject).await
    }

    /// Removes the chunks of a value that was not written. An earlier attempt, whose acknowledgement
    /// was lost, may have written it.
    async fn remove_unused_chunks(&self, subject: &str, id: &str) {
        if let Ok(last) = self.last(subject).await
            && last.as_ref().and_then(chunk_id) != Some(id)
            && let Ok(stream) = self.stream().await
        {
            let its = format!("{}.{id}.*", subjects::chunks_of(&self.team, subject));
            // The next write removes what is left.
            drop(stream.purge().filter(its).await);
        }
    }

    /// Returns the value of a message; `None` if its chunks were removed because it was replaced.
    pub(super) async fn value(&self, message: &StreamMessage) -> Answered<Option<Bytes>> {
        let Some((id, number)) = chunks_of(message) else {
            return Ok(Some(message.payload.clone()));
        };
        let at = subjects::chunks_of(&self.team, message.subject.as_str());
        let mut value = Vec::new();
        for number in 0..number {
            match self.last(&format!("{at}.{id}.{number}")).await? {
                Some(chunk) => value.extend_from_slice(&chunk.payload),
                None => return Ok(None),
            }
        }
        Ok(Some(value.into()))
    }
}

/// Returns whether these are the headers of a value that is stored in chunks.
pub(super) fn has_chunks(headers: &HeaderMap) -> bool {
    headers.get(CHUNK_ID).is_some()
}

/// Returns the ID of the chunks of a value, if it is stored in chunks.
pub(super) fn chunk_id(message: &StreamMessage) -> Option<&str> {
    chunks_of(message).map(|(id, _)| id)
}

fn chunks_of(message: &StreamMessage) -> Option<(&str, usize)> {
    let number = message.headers.get(CHUNKS)?.as_str().parse().ok()?;
    Some((message.headers.get(CHUNK_ID)?.as_str(), number))
}

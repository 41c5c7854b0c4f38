//! Values that are too large for one message. They are stored in chunks, and the message has their
//! number and ID in headers.

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
    /// Stores a value under a subject, in chunks if it is large.
    pub(super) async fn put(
        &self,
        subject: String,
        expected: u64,
        id: WriteId,
        value: Bytes,
    ) -> Answered<Published> {
        let largest = self.hub.client().await?.max_payload() / PART;
        if value.len() <= largest {
            let headers = HeaderMap::new();
            return self
                .publish(subject, Some(expected), id, headers, value)
                .await;
        }
        let published = self.put_in_chunks(&subject, expected, id, value, largest);
        let published = published.await;
        // Without an answer it may be written.
        if let Ok(Published::Conflict) | Err(NoAnswer::Failed(_)) = published {
            self.remove_unused_chunks(&subject, &id.to_string()).await;
        }
        published
    }

    async fn put_in_chunks(
        &self,
        subject: &str,
        expected: u64,
        id: WriteId,
        value: Bytes,
        largest: usize,
    ) -> Answered<Published> {
        let mut number = 0;
        let mut rest = value;
        while !rest.is_empty() {
            let chunk = rest.split_to(largest.min(rest.len()));
            let at = subjects::chunk(&self.team, &id.to_string(), number);
            let none = HeaderMap::new();
            self.publish(at, None, WriteId::new_v4(), none, chunk)
                .await?;
            number += 1;
        }
        let mut headers = HeaderMap::new();
        headers.insert(CHUNKS, number.to_string());
        headers.insert(CHUNK_ID, id.to_string());
        let subject = subject.to_owned();
        self.publish(subject, Some(expected), id, headers, Bytes::new())
            .await
    }

    /// Removes the chunks of a value that was not written. An earlier attempt, whose acknowledgement
    /// was lost, may have written it.
    async fn remove_unused_chunks(&self, subject: &str, id: &str) {
        if let Ok(last) = self.last(subject).await
            && last.as_ref().and_then(chunk_id) != Some(id)
        {
            self.remove_chunks(id).await;
        }
    }

    /// Returns the value of a message; `None` if its chunks were removed because it was replaced.
    pub(super) async fn value(&self, message: &StreamMessage) -> Answered<Option<Bytes>> {
        let Some((id, number)) = chunks_of(message) else {
            return Ok(Some(message.payload.clone()));
        };
        let mut value = Vec::new();
        for at in 0..number {
            match self.last(&subjects::chunk(&self.team, id, at)).await? {
                Some(chunk) => value.extend_from_slice(&chunk.payload),
                None => return Ok(None),
            }
        }
        Ok(Some(value.into()))
    }

    /// Removes the chunks of a value that was replaced or not written.
    pub(super) async fn remove_chunks(&self, id: &str) {
        let Ok(stream) = self.stream().await else {
            return;
        };
        let purged = stream
            .purge()
            .filter(subjects::chunks(&self.team, id))
            .await;
        if let Err(error) = purged {
            tracing::warn!(%error, "chunks of a replaced value are left on the hub");
        }
    }
}

/// Returns the ID of the chunks of a value, if it is stored in chunks.
pub(super) fn chunk_id(message: &StreamMessage) -> Option<&str> {
    chunks_of(message).map(|(id, _)| id)
}

fn chunks_of(message: &StreamMessage) -> Option<(&str, usize)> {
    let number = message.headers.get(CHUNKS)?.as_str().parse().ok()?;
    Some((message.headers.get(CHUNK_ID)?.as_str(), number))
}

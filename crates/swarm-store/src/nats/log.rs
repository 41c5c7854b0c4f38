//! Reading logs.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::message::StreamMessage;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::try_join;

use super::requests::Requests;
use super::subjects;
use crate::records::{Answered, Entries, Key};

/// Entries that are read one by one.
const SINGLE: usize = 3;

/// Entries per request.
const BATCH: usize = 500;

/// After this time the server removes a reader that has disappeared.
const READER: Duration = Duration::from_secs(30);

impl Requests {
    /// Returns the sequence number of the last entry; 0 without entries.
    pub(super) async fn log_end(&self, log: &Key) -> Answered<u64> {
        let last = self.last(&subjects::entries(&self.team, log)).await?;
        Ok(last.map_or(0, |message| message.sequence))
    }

    /// Reads the entries behind a sequence number. The first few are read one by one, which is faster
    /// than a reader for them.
    pub(super) async fn log_from(&self, log: &Key, from: u64) -> Answered<Entries> {
        let mut found = Entries {
            entries: Vec::new(),
            next: from,
            end: 0,
        };
        let pattern = subjects::entries(&self.team, log);
        let (first, last) = try_join(self.first(&pattern, from + 1), self.last(&pattern)).await?;
        let end = last.map_or(0, |last| last.sequence);
        found.end = end;
        let mut next = first;
        for _ in 0..SINGLE {
            let Some(message) = next else {
                return Ok(found);
            };
            self.add(&mut found, &message).await?;
            if found.next >= end {
                return Ok(found);
            }
            next = self.first(&pattern, found.next + 1).await?;
        }
        self.read_batches(pattern, &mut found).await?;
        found.end = end.max(found.next);
        Ok(found)
    }

    async fn add(&self, found: &mut Entries, message: &StreamMessage) -> Answered<()> {
        let value = self.value(message).await?;
        let entry = value.map(|value| (message.sequence, value.to_vec()));
        found.entries.extend(entry);
        found.next = message.sequence;
        Ok(())
    }

    async fn read_batches(&self, pattern: String, found: &mut Entries) -> Answered<()> {
        let stream = self.stream().await?;
        let config = Config {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: found.next + 1,
            },
            ack_policy: AckPolicy::None,
            filter_subject: pattern.clone(),
            inactive_threshold: READER,
            memory_storage: true,
            ..Config::default()
        };
        let reader = stream.create_consumer(config).await;
        let reader = reader.map_err(|error| self.failed(&error))?;
        let mut pending = reader.cached_info().num_pending;
        while pending > 0 {
            let fetch = reader.fetch().max_messages(BATCH).messages().await;
            let mut fetch = fetch.map_err(|error| self.failed(&error))?;
            let before = pending;
            while let Some(message) = fetch.next().await {
                let message = message.map_err(|_| self.unanswered())?;
                let info = message.info().map_err(|_| self.unanswered())?;
                pending = info.pending;
                let message = StreamMessage {
                    sequence: info.stream_sequence,
                    subject: message.subject.clone(),
                    headers: message.headers.clone().unwrap_or_default(),
                    payload: message.payload.clone(),
                    time: info.published,
                };
                self.add(found, &message).await?;
            }
            // The others may have been removed meanwhile.
            if pending == before && self.first(&pattern, found.next + 1).await?.is_some() {
                return Err(self.unanswered());
            } else if pending == before {
                break;
            }
        }
        let name = &reader.cached_info().name;
        let (stream, client) = (subjects::stream(&self.team), self.hub.client().await?);
        let delete = format!("$JS.API.CONSUMER.DELETE.{stream}.{name}");
        // Nobody waits for it: otherwise the server removes the reader later.
        drop(client.publish(delete, Bytes::new()).await);
        Ok(())
    }
}

//! Reading logs.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::message::StreamMessage;
use futures::StreamExt as _;

use super::requests::Requests;
use super::subjects;
use crate::records::{Answered, Entries, Key};

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

    /// Reads the entries behind a sequence number.
    pub(super) async fn log_from(&self, log: &Key, from: u64) -> Answered<Entries> {
        let end = self.log_end(log).await?;
        let mut found = Entries {
            entries: Vec::new(),
            next: from,
        };
        if end <= from {
            return Ok(found);
        }
        let stream = self.stream().await?;
        let config = Config {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: from + 1,
            },
            ack_policy: AckPolicy::None,
            filter_subject: subjects::entries(&self.team, log),
            inactive_threshold: READER,
            memory_storage: true,
            ..Config::default()
        };
        let reader = stream.create_consumer(config).await;
        let reader = reader.map_err(|error| self.failed(&error))?;
        while found.next < end {
            let fetch = reader.fetch().max_messages(BATCH).messages().await;
            let mut fetch = fetch.map_err(|error| self.failed(&error))?;
            let before = found.next;
            while let Some(message) = fetch.next().await {
                let message = message.map_err(|_| self.unanswered())?;
                let info = message.info().map_err(|_| self.unanswered())?;
                let sequence = info.stream_sequence;
                let message = StreamMessage {
                    sequence,
                    subject: message.subject.clone(),
                    headers: message.headers.clone().unwrap_or_default(),
                    payload: message.payload.clone(),
                    time: info.published,
                };
                let value = self.value(&message).await?;
                found.entries.extend(value.map(|value| value.to_vec()));
                found.next = sequence;
            }
            if found.next == before {
                return Err(self.unanswered());
            }
        }
        let name = reader.cached_info().name.clone();
        // Otherwise the server removes it later.
        drop(stream.delete_consumer(&name).await);
        Ok(found)
    }
}

//! Reading logs, and all that is below a key.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{
    AckPolicy, Consumer, DeliverPolicy, FromConsumer, IntoConsumerConfig,
};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::ConsumerErrorKind;
use bytes::Bytes;
use futures::StreamExt as _;

use super::requests::Requests;
use super::subjects;
use crate::records::{Answered, Entries, Key, Stored};

/// Entries that are read one by one.
const SINGLE: usize = 3;

/// Entries per request.
const BATCH: usize = 500;

/// After this time the server removes a reader that has disappeared.
const READER: Duration = Duration::from_secs(30);

impl Requests {
    /// Reads the entries behind a sequence number. The first few are read one by one, which is faster
    /// than a reader for them. The last entry is not asked for: to find it, the server compares all
    /// subjects of a block with the pattern.
    pub(super) async fn log_from(&self, log: &Key, from: u64) -> Answered<Entries> {
        let mut found = Entries {
            entries: Vec::new(),
            next: from,
        };
        let pattern = subjects::entries(&self.team, log);
        // All of the journal are many.
        let single = if from == 0 && !log.is_inbox() {
            0
        } else {
            SINGLE
        };
        for _ in 0..single {
            let Some(message) = self.first(&pattern, found.next + 1).await? else {
                return Ok(found);
            };
            self.add(&mut found, &message).await?;
        }
        let others = Box::pin(self.messages(&pattern, found.next + 1, 0, false));
        for message in others.await? {
            self.add(&mut found, &message).await?;
        }
        Ok(found)
    }

    /// Returns the sequence numbers of the entries of logs whose keys begin with these words, behind a
    /// sequence number.
    pub(super) async fn positions(&self, logs: &Key, from: u64) -> Answered<Vec<(Key, u64)>> {
        let pattern = subjects::below(&self.team, logs);
        let found = self
            .messages(&pattern, from + 1, 0, true)
            .await?
            .into_iter();
        let log_of = |subject: &str| subjects::key(&self.team, subject).parent();
        Ok(found
            .map(|message| (log_of(&message.subject), message.sequence))
            .collect())
    }

    async fn add(&self, found: &mut Entries, message: &StreamMessage) -> Answered<()> {
        let value = self.value(message).await?;
        let entry = value.map(|value| (message.sequence, value.to_vec()));
        found.entries.extend(entry);
        found.next = message.sequence;
        Ok(())
    }

    /// Returns the records whose keys begin with these words. One that is replaced meanwhile may be missing
    /// if it is not wanted.
    pub(super) async fn below(&self, prefix: &Key, wanted: &[Key]) -> Answered<Vec<(Key, Stored)>> {
        let pattern = subjects::below(&self.team, prefix);
        let mut found = Vec::new();
        for message in self.all_messages(&pattern, wanted).await? {
            let key = subjects::key(&self.team, &message.subject);
            let stored = match self.value(&message).await? {
                Some(value) => Some(Stored {
                    revision: message.sequence,
                    value: value.to_vec(),
                }),
                // It was replaced meanwhile.
                None => self.read(&key).await?,
            };
            found.extend(stored.map(|stored| (key, stored)));
        }
        Ok(found)
    }

    /// Returns the messages whose subjects match a pattern, oldest first. One that is replaced meanwhile
    /// may be there twice, or be missing if its key is not wanted.
    pub(super) async fn all_messages(
        &self,
        pattern: &str,
        wanted: &[Key],
    ) -> Answered<Vec<StreamMessage>> {
        let mut found = self.messages(pattern, 1, 0, false).await?;
        let wanted = wanted.iter().map(|key| subjects::of(&self.team, key));
        let mut missing: HashSet<String> = wanted.collect();
        for message in &found {
            missing.remove(message.subject.as_str());
        }
        if missing.is_empty() {
            return Ok(found);
        }
        // What was replaced comes after everything that was read.
        let next = found.last().map_or(1, |last| last.sequence + 1);
        let end = self.last(pattern).await?.map_or(0, |last| last.sequence);
        if end >= next {
            found.extend(self.messages(pattern, next, end, false).await?);
        }
        Ok(found)
    }

    /// Returns the messages from a sequence number on whose subjects match a pattern, oldest first: those
    /// that the server counts, and all up to the sequence number `end`. The server creates a reader for
    /// that, and finds them in one pass. Its count may leave out those that are being replaced. With
    /// `headers_only`, it sends no contents.
    async fn messages(
        &self,
        pattern: &str,
        start_sequence: u64,
        end: u64,
        headers_only: bool,
    ) -> Answered<Vec<StreamMessage>> {
        let reader = self.reader(pattern, start_sequence, headers_only).await?;
        // Not what is pending later: others may write faster than this reads.
        let (mut left, mut next) = (reader.cached_info().num_pending, start_sequence);
        let mut found = Vec::new();
        while left > 0 || next <= end {
            let fetch = reader.fetch().max_messages(BATCH).messages().await;
            let mut fetch = fetch.map_err(|error| self.failed(&error))?;
            let before = next;
            while let Some(message) = fetch.next().await {
                let message = message.map_err(|_| self.unanswered())?;
                let info = message.info().map_err(|_| self.unanswered())?;
                left = left.saturating_sub(1).min(info.pending);
                if info.stream_sequence < next {
                    continue;
                }
                next = info.stream_sequence + 1;
                found.push(StreamMessage {
                    sequence: info.stream_sequence,
                    subject: message.subject.clone(),
                    headers: message.headers.clone().unwrap_or_default(),
                    payload: message.payload.clone(),
                    time: info.published,
                });
            }
            if next == before {
                // The others may have been removed meanwhile.
                let Some(message) = self.first(pattern, next).await? else {
                    break;
                };
                left = left.saturating_sub(1);
                next = message.sequence + 1;
                found.push(message);
            }
        }
        self.remove_reader(&reader).await?;
        Ok(found)
    }

    /// Measures the clock of a server that has no room for a message, from the time at which it creates
    /// a reader.
    pub(super) async fn measure_clock_of_full(&self) -> Answered<i128> {
        let reader = self.reader(&subjects::clock(&self.team), 1, true).await?;
        let base = Instant::now();
        let now = reader.cached_info().created.unix_timestamp_nanos();
        self.clock.set(base, now);
        self.remove_reader(&reader).await?;
        Ok(now)
    }

    /// Creates a reader of the messages from a sequence number on whose subjects match a pattern. The
    /// server keeps it in memory.
    async fn reader(
        &self,
        pattern: &str,
        start_sequence: u64,
        headers_only: bool,
    ) -> Answered<Consumer<Config>> {
        let config = Config {
            headers_only,
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence },
            ack_policy: AckPolicy::None,
            filter_subject: pattern.to_owned(),
            inactive_threshold: READER,
            memory_storage: true,
            ..Config::default()
        };
        self.create_reader(config).await
    }

    /// Has the server remove a reader. Nobody waits for it: otherwise the server removes it later.
    async fn remove_reader(&self, reader: &Consumer<Config>) -> Answered<()> {
        let name = &reader.cached_info().name;
        let (stream, client) = (subjects::stream(&self.team), self.hub.client().await?);
        let delete = format!("$JS.API.CONSUMER.DELETE.{stream}.{name}");
        drop(client.publish(delete, Bytes::new()).await);
        Ok(())
    }

    /// Has the server create a reader, which it removes when nobody uses it any more.
    pub(super) async fn create_reader<C: IntoConsumerConfig + FromConsumer>(
        &self,
        config: C,
    ) -> Answered<Consumer<C>> {
        let reader = self.complete_stream().await?.create_consumer(config).await;
        match reader {
            Ok(reader) => Ok(reader),
            Err(error) => Err(match error.kind() {
                ConsumerErrorKind::JetStream(error) => self.refused_now(&error).await,
                _ => self.failed(&error),
            }),
        }
    }
}

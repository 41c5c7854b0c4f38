//! Requests to the server about records and logs of one team.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::stream::{Config, StorageType};
use futures::StreamExt as _;

use super::chunks::chunk_id;
use super::requests::{Published, Requests};
use super::subjects;
use crate::records::{Answered, Key, Stored, WriteId};

/// How long the server recognizes a repeated write. A call repeats a write for a shorter time.
const RECOGNIZED: Duration = Duration::from_mins(2);

impl Requests {
    /// Creates the stream if there is none, and records in it that do not exist. Returns whether the
    /// last one is new.
    pub(super) async fn create(&self, records: Vec<(Key, Vec<u8>)>) -> Answered<bool> {
        let config = Config {
            name: subjects::stream(&self.team),
            description: Some(format!("team {} of swarm", self.team)),
            subjects: subjects::stored(&self.team),
            max_messages_per_subject: 1,
            storage: StorageType::File,
            duplicate_window: RECOGNIZED,
            ..Config::default()
        };
        if let Err(error) = self.jetstream().await?.create_stream(config).await {
            match error.kind() {
                // Somebody has changed its settings, for example its replicas.
                CreateStreamErrorKind::JetStream(error)
                    if error.error_code() == ErrorCode::STREAM_NAME_EXIST => {}
                CreateStreamErrorKind::TimedOut => return Err(self.unanswered()),
                _ => return Err(self.failed(&error)),
            }
        }
        let mut is_new = false;
        for (key, value) in records {
            let subject = subjects::of(&self.team, &key);
            let put = self.put(subject, 0, WriteId::new_v4(), value.into());
            is_new = put.await? != Published::Conflict;
        }
        Ok(is_new)
    }

    pub(super) async fn delete(&self) -> Answered<()> {
        let name = subjects::stream(&self.team);
        let deleted = self.jetstream().await?.delete_stream(name).await;
        deleted.map(drop).map_err(|error| self.failed(&error))
    }

    pub(super) async fn read(&self, key: &Key) -> Answered<Option<Stored>> {
        let subject = subjects::of(&self.team, key);
        loop {
            let Some(message) = self.last(&subject).await? else {
                return Ok(None);
            };
            if let Some(value) = self.value(&message).await? {
                if let Some(id) = chunk_id(&message) {
                    let read = (message.sequence, id.to_owned());
                    self.chunked.lock().insert(key.clone(), read);
                }
                return Ok(Some(Stored {
                    revision: message.sequence,
                    value: value.to_vec(),
                }));
            }
        }
    }

    pub(super) async fn write(
        self: Arc<Self>,
        key: Key,
        revision: u64,
        id: WriteId,
        value: Vec<u8>,
    ) -> Answered<bool> {
        let subject = subjects::of(&self.team, &key);
        let chunked = self.chunked.lock().get(&key).cloned();
        match self.put(subject, revision, id, value.into()).await? {
            Published::Conflict => return Ok(false),
            Published::At(_) => {}
        }
        if let Some((_, id)) = chunked.filter(|(read, _)| *read == revision) {
            self.remove_chunks(&id).await;
        }
        self.announce(&key).await;
        Ok(true)
    }

    pub(super) async fn append(&self, log: Key, id: WriteId, entry: Vec<u8>) -> Answered<()> {
        if self.appended.lock().contains(&id) {
            return Ok(());
        }
        let subject = subjects::entry(&self.team, &log, id);
        // A conflict means that it was appended before.
        self.put(subject, 0, id, entry.into()).await?;
        self.appended.lock().insert(id);
        self.announce(&log).await;
        Ok(())
    }

    pub(super) async fn keys(&self) -> Answered<Vec<Key>> {
        let stream = self.stream().await?;
        let mut keys = Vec::new();
        for kind in ["record.>", "lease.*"] {
            let below = format!("swarm.{}.{kind}", self.team);
            let found = stream.info_with_subjects(below).await;
            let mut found = found.map_err(|error| self.failed(&error))?;
            while let Some(subject) = found.next().await {
                let (subject, _) = subject.map_err(|error| self.failed(&error))?;
                keys.extend(subjects::key(&self.team, &subject));
            }
        }
        Ok(keys)
    }
}

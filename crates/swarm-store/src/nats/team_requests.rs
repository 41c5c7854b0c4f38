//! Requests to the server about records and logs of one team.

use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{CreateStreamErrorKind, DeleteStreamErrorKind};
use async_nats::jetstream::stream::{Config, Republish, StorageType};

use super::chunks::chunk_id;
use super::requests::{Published, Requests};
use super::subjects;
use crate::StoreError;
use crate::records::{Answered, Key, NewEntry, NoAnswer, Stored, WriteId};

/// How long the server recognizes a repeated write. A call repeats a write for a shorter time.
const RECOGNIZED: Duration = Duration::from_mins(2);

/// Most appended entries that are remembered.
const REMEMBERED: usize = 4096;

impl Requests {
    /// Creates the stream if there is none, and records in it that do not exist. Returns whether the
    /// last one is new.
    pub(super) async fn create(&self, records: Vec<(Key, WriteId, Vec<u8>)>) -> Answered<bool> {
        let (source, destination) = subjects::announcements(&self.team);
        let config = Config {
            name: subjects::stream(&self.team),
            description: Some(format!("team {} of swarm", self.team)),
            subjects: subjects::stored(&self.team),
            max_messages_per_subject: 1,
            storage: StorageType::File,
            duplicate_window: RECOGNIZED,
            republish: Some(Republish {
                source,
                destination,
                headers_only: true,
            }),
            ..Config::default()
        };
        if let Err(error) = self.jetstream().await?.create_stream(config).await {
            match error.kind() {
                // Somebody has changed its settings, for example its replicas.
                CreateStreamErrorKind::JetStream(error)
                    if error.error_code() == ErrorCode::STREAM_NAME_EXIST => {}
                CreateStreamErrorKind::JetStream(error) => return Err(self.refused(&error)),
                CreateStreamErrorKind::TimedOut => return Err(self.unanswered()),
                _ => return Err(self.failed(&error)),
            }
        }
        let mut is_new = false;
        for (key, id, value) in records {
            let subject = subjects::of(&self.team, &key);
            let put = self.put(subject, 0, id, value.into());
            is_new = match put.await {
                // Another process has just begun to create the stream.
                Err(NoAnswer::Failed(StoreError::NotOnHub { .. })) => {
                    return Err(self.unanswered());
                }
                put => put? != Published::Conflict,
            };
        }
        Ok(is_new)
    }

    pub(super) async fn delete(&self) -> Answered<()> {
        let name = subjects::stream(&self.team);
        let Err(error) = self.jetstream().await?.delete_stream(name).await else {
            return Ok(());
        };
        match error.kind() {
            // By an earlier attempt, or by another process.
            DeleteStreamErrorKind::JetStream(error)
                if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                Ok(())
            }
            _ => Err(self.failed(&error)),
        }
    }

    pub(super) async fn read(&self, key: &Key) -> Answered<Option<Stored>> {
        let subject = subjects::of(&self.team, key);
        let mut incomplete = None;
        loop {
            let Some(message) = self.last(&subject).await? else {
                return Ok(None);
            };
            // A process that removes chunks has replaced the value before.
            if incomplete == Some(message.sequence) {
                return Err(self.damaged(key));
            }
            if let Some(value) = self.value(&message).await? {
                if chunk_id(&message).is_some() {
                    self.chunked.lock().insert(subject);
                }
                return Ok(Some(Stored {
                    revision: message.sequence,
                    value: value.to_vec(),
                }));
            }
            incomplete = Some(message.sequence);
        }
    }

    fn damaged(&self, key: &Key) -> NoAnswer {
        NoAnswer::Failed(StoreError::Damaged {
            path: format!("{}/{}", subjects::stream(&self.team), key).into(),
            reason: "parts of its value are missing on the hub".to_owned(),
        })
    }

    pub(super) async fn write(
        self: Arc<Self>,
        key: Key,
        revision: u64,
        id: WriteId,
        value: Vec<u8>,
    ) -> Answered<Published> {
        let subject = subjects::of(&self.team, &key);
        let published = self.put(subject, revision, id, value.into()).await?;
        if let Published::At(revision) = published {
            self.bells.ring(&key, revision);
        }
        Ok(published)
    }

    /// Sends all entries before it waits for the first answer.
    pub(super) async fn append(&self, mut entries: Vec<NewEntry>) -> Answered<()> {
        {
            let appended = self.appended.lock();
            entries.retain(|(_, id, _)| !appended.contains(id));
        }
        let largest = self.largest().await?;
        let (mut sent, mut ids) = (Vec::new(), Vec::new());
        for (log, id, entry) in entries {
            let subject = subjects::entry(&self.team, &log, id);
            if entry.len() > largest {
                let put = Box::pin(self.put(subject, 0, id, entry.into()));
                self.ring_appended(&log, put.await?);
            } else {
                let none = HeaderMap::new();
                let one = self.send(subject, Some(0), id, none, entry.into()).await?;
                sent.push((log, one));
            }
            ids.push(id);
        }
        for (log, sent) in sent {
            self.ring_appended(&log, self.stored(sent).await?);
        }
        {
            let mut appended = self.appended.lock();
            if appended.len() >= REMEMBERED {
                appended.clear();
            }
            appended.extend(ids);
        }
        Ok(())
    }

    /// A conflict means that the entry was appended before.
    fn ring_appended(&self, log: &Key, published: Published) {
        if let Published::At(position) = published {
            self.bells.ring(log, position);
        }
    }
}

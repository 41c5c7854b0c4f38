//! Hearing of changes. The server announces each message of the stream when it has stored it, in their
//! order; a process subscribes to those of the keys that it watches. It hears the messages of an inbox
//! themselves when they are published, which says nothing until they are announced.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{SelectAll, select_all};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::chunks::has_chunks;
use super::lease_record::is_renewal;
use super::listening::{KEPT, Listening};
use super::requests::Requests;
use super::subjects;
use crate::records::{Heard, Key};

/// All watchers look again this often, because hints can be lost.
const SWEEP: Duration = Duration::from_secs(5);

/// Headers of an announcement.
const SEQUENCE: &str = "Nats-Sequence";
const SUBJECT: &str = "Nats-Subject";

impl Requests {
    /// Returns what changes when keys, or keys with these prefixes, are written.
    pub(super) fn heard(self: &Arc<Self>, keys: &[Key]) -> Heard {
        let mut listening = self.listening.lock();
        let heard = self.bells.heard(keys);
        for key in keys {
            listening.entry(key.clone()).or_insert_with(|| {
                let requests = Arc::clone(self);
                Listening::new(self.hub.spawn(requests.listen(key.clone())))
            });
        }
        heard
    }

    /// Returns the entries of a log after a sequence number that were heard, and forgets older ones.
    /// None is missing among them since the last gap.
    pub(super) fn heard_entries(&self, log: &Key, from: u64) -> Vec<(u64, Vec<u8>)> {
        let mut listening = self.listening.lock();
        let heard = listening.get_mut(log);
        heard.map(|heard| heard.after(from)).unwrap_or_default()
    }

    /// Stops listening.
    pub(super) fn hear_no_more(&self) {
        for (_, listening) in std::mem::take(&mut *self.listening.lock()) {
            listening.end();
        }
    }

    /// Rings at announced changes of a key while it has watchers. After a pause in the connection
    /// everything may have changed.
    async fn listen(self: Arc<Self>, key: Key) {
        let mut reconnects = self.hub.reconnects();
        let mut heard = loop {
            if let Some(heard) = self.subscribe(&key).await {
                break heard;
            }
            sleep(SWEEP).await;
        };
        // The first tick is immediate: there may have been a change before the subscription.
        let mut sweep = interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut published = HashMap::new();
        let mut connection = self.connection_id();
        loop {
            let change = tokio::select! {
                message = heard.next() => match message {
                    Some(message) if is_renewal(message.headers.as_ref()) => continue,
                    Some(message) => {
                        let Some((at, subject)) = announced(&message) else {
                            if published.len() >= KEPT {
                                published.clear();
                            }
                            published.insert(message.subject.to_string(), entry(message));
                            continue;
                        };
                        self.note_sequence(at);
                        Some((at, published.remove(subject).flatten()))
                    }
                    None => {
                        sleep(SWEEP).await;
                        None
                    }
                },
                changed = reconnects.changed() => match changed {
                    Ok(()) => None,
                    Err(_) => return,
                },
                _ = sweep.tick() => None,
            };
            // A new connection is reported before the loss of the previous one.
            let now = self.connection_id();
            let is_other = now != connection;
            connection = now;
            if (is_other && change.is_some() && !self.ring(&key, None)) || !self.ring(&key, change)
            {
                return;
            }
        }
    }

    /// Rings for a change of a key, or because something may have been missed. Returns `false` if
    /// nobody watches it any more.
    fn ring(&self, key: &Key, change: Option<(u64, Option<Bytes>)>) -> bool {
        let mut listening = self.listening.lock();
        let at = change.as_ref().map(|(at, _)| *at);
        if let Some(own) = listening.get_mut(key) {
            match change {
                Some((at, entry)) => own.add(at, entry),
                None => own.clear(),
            }
        }
        let is_watched = self.bells.ring_watched(key, at);
        if !is_watched {
            listening.remove(key);
        }
        is_watched
    }

    /// Returns the server, which has another ID after a restart, and its number for the connection.
    fn connection_id(&self) -> Option<(String, u64)> {
        let info = self.hub.last_client()?.server_info();
        Some((info.server_id, info.client_id))
    }

    async fn subscribe(&self, key: &Key) -> Option<SelectAll<Subscriber>> {
        let client = self.hub.client().await.ok()?;
        let mut heard = Vec::new();
        for subject in subjects::changes_of(&self.team, key) {
            heard.push(client.subscribe(subject).await.ok()?);
        }
        if key.is_inbox() {
            let entries = subjects::entries(&self.team, key);
            heard.push(client.subscribe(entries).await.ok()?);
        }
        Some(select_all(heard))
    }
}

/// Returns the sequence number and the subject of the message that is announced.
fn announced(message: &Message) -> Option<(u64, &str)> {
    let headers = message.headers.as_ref()?;
    let sequence = headers.get(SEQUENCE)?.as_str().parse().ok()?;
    Some((sequence, headers.get(SUBJECT)?.as_str()))
}

/// Returns the entry in a message; `None` if it is stored in chunks.
fn entry(message: Message) -> Option<Bytes> {
    (!message.headers.is_some_and(|headers| has_chunks(&headers))).then_some(message.payload)
}

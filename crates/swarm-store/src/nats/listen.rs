//! Hearing of changes. The server announces each message of the stream when it has stored it, in their
//! order; a process subscribes to those of the keys that it watches. It is sent the messages
//! of a watched inbox themselves.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::stream::{SelectAll, select_all};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

use super::consumer::Consumed;
use super::lease_record::is_renewal;
use super::listening::Listening;
use super::requests::Requests;
use super::subjects;
use crate::records::{Heard, Key};

/// All watchers look again this often, because hints can be lost. A consumer that hears nothing for as
/// long is replaced.
const SWEEP: Duration = Duration::from_secs(5);

/// Header of an announcement.
const SEQUENCE: &str = "Nats-Sequence";

/// What is heard of a key.
#[derive(Debug)]
enum News {
    /// Another message was stored.
    Written(u64),
    Consumed(Consumed),
    /// Something may have been missed.
    Gap,
}

impl Requests {
    /// Returns what changes when keys, or keys with these prefixes, are written. If there is a connection,
    /// a request that is sent afterwards finds all changes that are not heard of.
    pub(super) fn heard(self: &Arc<Self>, keys: &[Key]) -> Heard {
        let mut listening = self.listening.lock();
        let heard = self.bells.heard(keys);
        for key in keys {
            listening
                .entry(key.clone())
                .or_insert_with(|| self.begin_to_listen(key.clone()));
        }
        heard
    }

    fn begin_to_listen(self: &Arc<Self>, key: Key) -> Listening {
        let requests = Arc::clone(self);
        let task = if key.is_inbox() {
            self.hub.spawn(requests.listen_to_log(key))
        } else {
            let reconnects = self.hub.reconnects();
            let is_connected = self.hub.last_client().is_some();
            let subscribed = is_connected.then(|| self.subscribe(&key).now_or_never());
            let subscribed = subscribed.flatten().flatten();
            self.hub.spawn(requests.listen(key, reconnects, subscribed))
        };
        Listening::new(task)
    }

    /// Returns the entries of a log after a sequence number that have arrived, and forgets older ones.
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
    async fn listen(
        self: Arc<Self>,
        key: Key,
        mut reconnects: watch::Receiver<(bool, u64)>,
        subscribed: Option<SelectAll<Subscriber>>,
    ) {
        let mut connection = self.connection_id();
        // There may have been a change before a later subscription.
        let first = match &subscribed {
            Some(_) => SWEEP,
            None => Duration::ZERO,
        };
        let mut heard = match subscribed {
            Some(heard) => heard,
            None => loop {
                if let Some(heard) = self.subscribe(&key).await {
                    break heard;
                }
                sleep(SWEEP).await;
            },
        };
        let mut sweep = interval_at(Instant::now() + first, SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let news = tokio::select! {
                message = heard.next() => match message {
                    Some(message) if is_renewal(message.headers.as_ref()) => continue,
                    Some(message) => announced(&message).map_or(News::Gap, News::Written),
                    None => {
                        sleep(SWEEP).await;
                        News::Gap
                    }
                },
                changed = reconnects.changed() => match changed {
                    Ok(()) => News::Gap,
                    Err(_) => return,
                },
                _ = sweep.tick() => News::Gap,
            };
            // A new connection is reported before the loss of the previous one.
            let now = self.connection_id();
            let is_other = now != connection;
            connection = now;
            if (is_other && !self.ring(&key, News::Gap)) || !self.ring(&key, news) {
                return;
            }
        }
    }

    /// Rings at the entries of a log while it has watchers.
    async fn listen_to_log(self: Arc<Self>, log: Key) {
        let mut reconnects = self.hub.reconnects();
        loop {
            let losses = reconnects.borrow().1;
            let is_watched = tokio::select! {
                is_watched = self.hear_entries(&log) => is_watched,
                lost = reconnects.wait_for(|now| now.1 != losses) => lost.is_ok(),
            };
            if !is_watched {
                return;
            }
        }
    }

    /// Rings at the entries of a log from now on, until something may be missing. Returns whether the log
    /// is still watched.
    async fn hear_entries(&self, log: &Key) -> bool {
        // For as long as there is no connection.
        drop(self.hub.client().await);
        let consumer = timeout(SWEEP, self.consume(log)).await;
        // There may have been entries before.
        if !self.ring(log, News::Gap) {
            return false;
        }
        let Ok(Ok(mut consumer)) = consumer else {
            sleep(SWEEP).await;
            return true;
        };
        let mut is_first = true;
        loop {
            let next = match timeout(SWEEP, consumer.next()).await {
                Ok(Consumed::Incomplete) | Err(_) => return true,
                Ok(next) => next,
            };
            let first = next.position().filter(|_| is_first);
            if !self.ring(log, News::Consumed(next)) {
                return false;
            }
            let Some(first) = first else {
                continue;
            };
            is_first = false;
            // For each entry that it sends, nats-server before 2.9.15 compares all subjects of a block with
            // the pattern, unless the consumer began with an entry that was there.
            match timeout(SWEEP, self.consume_after(log, first)).await {
                Ok(Ok(Some(faster))) => consumer = faster,
                Ok(Ok(None)) => return true,
                Ok(Err(error)) => tracing::debug!(?error, %log, "the first consumer is kept"),
                Err(_) => {}
            }
        }
    }

    /// Rings for news of a key. Returns `false` if nobody watches it any more.
    fn ring(&self, key: &Key, news: News) -> bool {
        let mut listening = self.listening.lock();
        let is_watched = match news {
            News::Written(at) => {
                self.note_sequence(at);
                self.bells.ring_watched(key, Some(at))
            }
            News::Consumed(Consumed::Entry(at, entry)) => {
                self.note_sequence(at);
                if let Some(own) = listening.get_mut(key) {
                    own.add(at, entry);
                }
                self.bells.ring_watched(key, Some(at))
            }
            News::Consumed(Consumed::Nothing) => self.bells.is_watched(key),
            News::Consumed(Consumed::Incomplete) | News::Gap => {
                if let Some(own) = listening.get_mut(key) {
                    own.clear();
                }
                self.bells.ring_watched(key, None)
            }
        };
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
        Some(select_all(heard))
    }
}

/// Returns the sequence number of the message that is announced.
fn announced(message: &Message) -> Option<u64> {
    let sequence = message.headers.as_ref()?.get(SEQUENCE)?;
    sequence.as_str().parse().ok()
}

//! Requests to the server about the stream of one team: single messages.

use std::collections::{BTreeMap, HashSet};
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::context::{
    Context, GetStreamErrorKind, PublishAckFuture, PublishError, PublishErrorKind,
};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{
    LastRawMessageError, LastRawMessageErrorKind, PurgeErrorKind, Stream,
};
use async_nats::jetstream::{Error, ErrorCode};
use bytes::Bytes;
use futures::future::try_join_all;
use parking_lot::Mutex;
use swarm_protocol::{MemberName, TeamName};
use tokio::sync::watch;

use super::connection::{Connection, absent, with_cause};
use super::listening::Listening;
use super::server_clock::ServerClock;
use super::settings::LeaseTerms;
use super::subjects;
use crate::StoreError;
use crate::records::{Answered, Bells, Key, NoAnswer, WriteId};

const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// A server that stops has no streams any more for some milliseconds before it ends its connections.
const STOPPING: Duration = Duration::from_millis(200);

/// What all handles of one team share in this process.
#[derive(Debug)]
pub(super) struct Requests {
    pub(super) hub: Arc<Connection>,
    pub(super) team: TeamName,
    pub(super) terms: LeaseTerms,
    pub(super) clock: ServerClock,
    pub(super) bells: Bells,
    /// By the key, or prefix of keys, whose announced changes ring.
    pub(super) listening: Mutex<BTreeMap<Key, Listening>>,
    /// Entries of logs that this process has appended lately, which saves a request for each that is
    /// appended again.
    pub(super) appended: Mutex<HashSet<WriteId>>,
    /// Subjects of records of which there may be chunks: the next write removes those of older values.
    pub(super) chunked: Mutex<HashSet<String>>,
    /// Members whose lease this process has lost. Each loss ends the waits for the server.
    pub(super) lost: watch::Sender<HashSet<MemberName>>,
    /// Whether the stream was seen with a message in it.
    is_complete: AtomicBool,
    /// Held while that is asked for.
    completing: tokio::sync::Mutex<()>,
    /// Held while the server's time is asked for.
    measuring: tokio::sync::Mutex<()>,
    /// The highest sequence number that the server has told, and when.
    heard: Mutex<Option<(u64, Instant)>>,
}

/// A message that was sent, and perhaps not stored yet.
pub(super) type Sent = Result<PublishAckFuture, PublishError>;

/// Whether a message was stored, or another one was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Published {
    At(u64),
    Conflict,
}

impl Requests {
    pub(super) fn new(hub: Arc<Connection>, team: TeamName, terms: LeaseTerms) -> Self {
        Self {
            hub,
            team,
            terms,
            clock: ServerClock::default(),
            bells: Bells::default(),
            listening: Mutex::default(),
            appended: Mutex::default(),
            chunked: Mutex::default(),
            lost: watch::Sender::default(),
            is_complete: AtomicBool::new(false),
            completing: tokio::sync::Mutex::default(),
            measuring: tokio::sync::Mutex::default(),
            heard: Mutex::default(),
        }
    }

    pub(super) fn note_sequence(&self, sequence: u64) {
        let mut heard = self.heard.lock();
        if heard.is_none_or(|(highest, _)| highest <= sequence) {
            *heard = Some((sequence, Instant::now()));
        }
    }

    /// Returns a sequence number that those of later messages exceed, if the server has told one.
    pub(super) fn heard_sequence(&self) -> Option<(u64, Instant)> {
        *self.heard.lock()
    }

    pub(super) fn absent(&self) -> NoAnswer {
        self.is_complete.store(false, Ordering::SeqCst);
        *self.heard.lock() = None;
        NoAnswer::Failed(absent(&self.hub, &self.team))
    }

    /// Returns the error of a request to a stream that the server does not have. The team is gone only if
    /// that is still so when a server that stops would have ended the connection.
    async fn without_stream(&self) -> NoAnswer {
        tokio::time::sleep(STOPPING).await;
        let found = Box::pin(self.last_sequence()).await;
        found.map_or_else(|error| error, |_| self.unanswered())
    }

    /// Returns the error of a request that the server refused.
    pub(super) fn failed(&self, why: &dyn std::error::Error) -> NoAnswer {
        NoAnswer::Failed(StoreError::HubRefused {
            team: self.team.clone(),
            hub: self.hub.settings().url.clone(),
            reason: with_cause(why),
        })
    }

    pub(super) fn unanswered(&self) -> NoAnswer {
        NoAnswer::Unanswered(StoreError::HubSilent(self.hub.settings().url.clone()))
    }

    pub(super) fn refused(&self, error: &Error) -> NoAnswer {
        match error.error_code() {
            ErrorCode::STREAM_NOT_FOUND => self.absent(),
            // Disk or limits of the server leave no room.
            ErrorCode::INSUFFICIENT_RESOURCES
            | ErrorCode::STORAGE_RESOURCES_EXCEEDED
            | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
            | ErrorCode::STREAM_STORE_FAILED => NoAnswer::Failed(StoreError::HubFull {
                team: self.team.clone(),
                hub: self.hub.settings().url.clone(),
            }),
            _ => self.failed(error),
        }
    }

    /// Returns the error of a request that the server refused. One without the stream may just be stopping.
    pub(super) async fn refused_now(&self, error: &Error) -> NoAnswer {
        match error.error_code() {
            ErrorCode::STREAM_NOT_FOUND => self.without_stream().await,
            _ => self.refused(error),
        }
    }

    pub(super) async fn jetstream(&self) -> Answered<Context> {
        self.hub.jetstream().await
    }

    pub(super) async fn stream(&self) -> Answered<Stream<()>> {
        let name = subjects::stream(&self.team);
        let stream = self.jetstream().await?.get_stream_no_info(name).await;
        stream.map_err(|error| self.failed(&error))
    }

    /// Returns the stream to read messages from. A team without a message does not exist yet.
    ///
    /// nats-server 2.9 crashes when a message is requested from a stream that it is creating, and
    /// anybody may ask for a team at that moment. It describes such a stream without harm.
    pub(super) async fn complete_stream(&self) -> Answered<Stream<()>> {
        if !self.is_complete.load(Ordering::SeqCst) {
            let _one = self.completing.lock().await;
            if !self.is_complete.load(Ordering::SeqCst) {
                Box::pin(self.last_sequence()).await?;
                self.is_complete.store(true, Ordering::SeqCst);
            }
        }
        self.stream().await
    }

    /// Returns the sequence number of the last message, whatever its subject.
    pub(super) async fn last_sequence(&self) -> Answered<u64> {
        let name = subjects::stream(&self.team);
        let stream = self.jetstream().await?.get_stream(name).await;
        let stream = stream.map_err(|error| match error.kind() {
            GetStreamErrorKind::JetStream(error) => self.refused(&error),
            // No server answers for streams: it is starting, or JetStream is off.
            GetStreamErrorKind::Request => self.unanswered(),
            GetStreamErrorKind::EmptyName | GetStreamErrorKind::InvalidStreamName => {
                self.failed(&error)
            }
        })?;
        match stream.cached_info().state.last_sequence {
            0 => Err(self.absent()),
            last => {
                self.note_sequence(last);
                Ok(last)
            }
        }
    }

    /// Returns the last message of a subject.
    pub(super) async fn last(&self, subject: &str) -> Answered<Option<StreamMessage>> {
        let stream = self.complete_stream().await?;
        let found = stream.get_last_raw_message_by_subject(subject).await;
        self.found(found).await
    }

    /// Returns the last messages of the subjects of several keys, in their order. All are requested
    /// before the first answer.
    pub(super) async fn last_of_each(&self, keys: &[Key]) -> Answered<Vec<Option<StreamMessage>>> {
        self.complete_stream().await?;
        let subjects = keys.iter().map(|key| subjects::of(&self.team, key));
        try_join_all(subjects.map(async |subject| self.last(&subject).await)).await
    }

    /// Returns the first message from a sequence number on whose subject matches a pattern.
    pub(super) async fn first(
        &self,
        pattern: &str,
        sequence: u64,
    ) -> Answered<Option<StreamMessage>> {
        let stream = self.complete_stream().await?;
        let found = stream.get_first_raw_message_by_subject(pattern, sequence);
        self.found(found.await).await
    }

    async fn found(
        &self,
        message: Result<StreamMessage, LastRawMessageError>,
    ) -> Answered<Option<StreamMessage>> {
        match message {
            Ok(message) => Ok(Some(message)),
            Err(error) => match error.kind() {
                LastRawMessageErrorKind::NoMessageFound => Ok(None),
                LastRawMessageErrorKind::JetStream(error) => Err(self.refused_now(&error).await),
                LastRawMessageErrorKind::InvalidSubject => Err(self.failed(&error)),
                // No server answers for streams: it is starting, or JetStream is off.
                LastRawMessageErrorKind::Other => Err(self.unanswered()),
            },
        }
    }

    /// Stores a message if the last one of its subject has this sequence number.
    pub(super) async fn publish(
        &self,
        subject: String,
        expected: Option<u64>,
        id: WriteId,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Answered<Published> {
        let sent = self.send(subject, expected, id, headers, payload).await?;
        self.stored(sent).await
    }

    /// Sends such a message. The server stores messages in the order in which they are sent.
    pub(super) async fn send(
        &self,
        subject: String,
        expected: Option<u64>,
        id: WriteId,
        mut headers: HeaderMap,
        payload: Bytes,
    ) -> Answered<Sent> {
        if let Some(expected) = expected {
            headers.insert(EXPECTED, expected.to_string());
        }
        headers.insert(MESSAGE_ID, id.to_string());
        let context = self.jetstream().await?;
        Ok(context
            .publish_with_headers(subject, headers, payload)
            .await)
    }

    /// Waits until a message that was sent is stored.
    pub(super) async fn stored(&self, sent: Sent) -> Answered<Published> {
        let ack = match sent {
            Ok(sent) => sent.await,
            Err(error) => Err(error),
        };
        match ack {
            Ok(ack) => {
                self.note_sequence(ack.sequence);
                Ok(Published::At(ack.sequence))
            }
            Err(error) => match error.kind() {
                PublishErrorKind::WrongLastSequence => Ok(Published::Conflict),
                // Nobody answers for the subject.
                PublishErrorKind::StreamNotFound => Err(self.without_stream().await),
                PublishErrorKind::TimedOut
                | PublishErrorKind::BrokenPipe
                | PublishErrorKind::MaxAckPending => Err(self.unanswered()),
                _ => match error.source().and_then(|cause| cause.downcast_ref()) {
                    Some(cause) => Err(self.refused(cause)),
                    None => Err(self.failed(&error)),
                },
            },
        }
    }

    /// Has the server remove the messages of a subject. Returns when that is requested, because the
    /// process may end then.
    pub(super) async fn begin_purge(&self, subject: &str) -> Answered<()> {
        let (stream, client) = (subjects::stream(&self.team), self.hub.client().await?);
        let request = format!("{{\"filter\":\"{subject}\"}}");
        let purge = format!("$JS.API.STREAM.PURGE.{stream}");
        let sent = client.publish(purge, request.into()).await;
        sent.map_err(|_| self.unanswered())?;
        client.flush().await.map_err(|_| self.unanswered())
    }

    /// Removes the messages whose subjects match a pattern.
    pub(super) async fn purge(&self, pattern: String) -> Answered<()> {
        let stream = self.stream().await?;
        match stream.purge().filter(pattern).await {
            Ok(_) => Ok(()),
            Err(error) => match error.kind() {
                PurgeErrorKind::TimedOut => Err(self.unanswered()),
                PurgeErrorKind::Request => Err(self.failed(&error)),
                PurgeErrorKind::JetStream(error) => Err(self.refused_now(&error).await),
            },
        }
    }

    /// Returns the server's time in nanoseconds since 1970, measured now. It is late by at most the
    /// time of one request.
    pub(super) async fn measure_clock(&self) -> Answered<i128> {
        let subject = subjects::clock(&self.team);
        let id = WriteId::new_v4();
        let none = HeaderMap::new();
        let sent = self.publish(subject.clone(), None, id, none, Bytes::new());
        match sent.await {
            Err(NoAnswer::Failed(StoreError::HubFull { .. })) => {
                return Box::pin(self.measure_clock_of_full()).await;
            }
            sent => sent?,
        };
        let base = std::time::Instant::now();
        let message = self
            .last(&subject)
            .await?
            .ok_or_else(|| self.unanswered())?;
        self.clock.set(base, message.time.unix_timestamp_nanos());
        Ok(message.time.unix_timestamp_nanos())
    }

    /// Returns the server's time in nanoseconds since 1970.
    pub(super) async fn server_time(&self) -> Answered<i128> {
        let _one = self.measuring.lock().await;
        match self.clock.now() {
            Some(now) => Ok(now),
            None => self.measure_clock().await,
        }
    }
}

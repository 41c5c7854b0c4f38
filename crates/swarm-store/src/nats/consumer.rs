//! A consumer of a log: the server sends its entries to a process that watches it. It numbers them, so
//! the process knows whether it has missed something.

use std::time::Duration;

use async_nats::header::NATS_LAST_CONSUMER;
use async_nats::jetstream::consumer::push::Config;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{Message, StatusCode, Subscriber};
use bytes::Bytes;
use futures::StreamExt as _;

use super::chunks::has_chunks;
use super::requests::Requests;
use super::subjects;
use crate::records::{Answered, Key};

/// Pause after which the server says how many entries it has sent.
const PAUSE: Duration = Duration::from_secs(2);

/// The entries that a log gets, in their order.
pub(super) struct Consumer {
    context: Context,
    messages: Subscriber,
    /// How many have arrived.
    arrived: u64,
}

/// What a consumer hears.
#[derive(Debug)]
pub(super) enum Consumed {
    /// The next entry, with its sequence number; `None` if it is stored in chunks.
    Entry(u64, Option<Bytes>),
    /// There is nothing new.
    Nothing,
    /// Something is missing, or nothing more will arrive.
    Incomplete,
}

impl Consumed {
    /// Returns the sequence number of an entry.
    pub(super) fn position(&self) -> Option<u64> {
        match self {
            Self::Entry(at, _) => Some(*at),
            Self::Nothing | Self::Incomplete => None,
        }
    }
}

impl Requests {
    /// Has the server send the entries that a log gets from now on.
    pub(super) async fn consume(&self, log: &Key) -> Answered<Consumer> {
        self.consume_by(log, DeliverPolicy::New).await
    }

    /// Has the server send the entries after the one with this sequence number; `None` if that is not there.
    pub(super) async fn consume_after(&self, log: &Key, at: u64) -> Answered<Option<Consumer>> {
        let begin = DeliverPolicy::ByStartSequence { start_sequence: at };
        let mut consumer = self.consume_by(log, begin).await?;
        // In a team that was created again, the consumer would leave out entries before this number.
        let is_there = matches!(consumer.next().await, Consumed::Entry(first, _) if first == at);
        Ok(is_there.then_some(consumer))
    }

    async fn consume_by(&self, log: &Key, deliver_policy: DeliverPolicy) -> Answered<Consumer> {
        let client = self.hub.client().await?;
        let deliver_subject = client.new_inbox();
        let messages = client.subscribe(deliver_subject.clone()).await;
        let messages = messages.map_err(|error| self.failed(&error))?;
        let config = Config {
            deliver_subject,
            deliver_policy,
            ack_policy: AckPolicy::None,
            filter_subject: subjects::entries(&self.team, log),
            idle_heartbeat: PAUSE,
            memory_storage: true,
            ..Config::default()
        };
        self.create_reader(config).await?;
        Ok(Consumer {
            context: self.jetstream().await?,
            messages,
            arrived: 0,
        })
    }
}

impl Consumer {
    /// Waits for what the server sends next.
    pub(super) async fn next(&mut self) -> Consumed {
        match self.messages.next().await {
            Some(message) if message.status.is_none() => self.entry(message),
            Some(message) if self.is_complete(&message) => Consumed::Nothing,
            Some(_) | None => Consumed::Incomplete,
        }
    }

    fn entry(&mut self, message: Message) -> Consumed {
        let context = self.context.clone();
        let message = jetstream::Message { message, context };
        match message.info() {
            Ok(info) if info.consumer_sequence == self.arrived + 1 => {
                self.arrived += 1;
                let at = info.stream_sequence;
                let has_chunks = message.headers.as_ref().is_some_and(has_chunks);
                let entry = (!has_chunks).then(|| message.payload.clone());
                Consumed::Entry(at, entry)
            }
            Ok(_) | Err(_) => Consumed::Incomplete,
        }
    }

    /// Returns whether the server says that it has sent as many entries as have arrived.
    fn is_complete(&self, message: &Message) -> bool {
        let sent = message
            .headers
            .as_ref()
            .and_then(|headers| headers.get(NATS_LAST_CONSUMER)?.as_str().parse().ok());
        message.status == Some(StatusCode::IDLE_HEARTBEAT) && sent == Some(self.arrived)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use swarm_hubkit::{NatsServer, has_server};
    use swarm_protocol::TeamName;

    use super::*;
    use crate::nats::connection::{Background, Connection};
    use crate::nats::settings::{HubSettings, LeaseTerms};
    use crate::records::WriteId;

    #[test]
    fn a_consumer_begins_after_an_entry_only_if_that_is_there() {
        if !has_server() {
            eprintln!("NOT PROVEN HERE: nats-server is not installed");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let server = NatsServer::start(directory.path(), &[]);
        let settings = HubSettings {
            url: server.url(),
            credentials: None,
            ca: None,
        };
        let background = Arc::new(Background::start(&settings).unwrap());
        let team = TeamName::nodes();
        let hub = Arc::new(Connection::new(settings, &team, background));
        let requests = Requests::new(Arc::clone(&hub), team, LeaseTerms::default());
        let found = hub.wait(Duration::from_secs(20), async move {
            let record = (Key::new("record.roster"), WriteId::new_v4(), Vec::new());
            requests.create(vec![record]).await?;
            let log = Key::new("log.inbox.alice");
            let entry = |text: &str| (log.clone(), WriteId::new_v4(), text.as_bytes().to_vec());
            requests.append(vec![entry("first")]).await?;
            let first = requests.last_sequence().await?;
            requests.append(vec![entry("second")]).await?;
            let mut consumer = requests.consume_after(&log, first).await?.unwrap();
            let second = consumer.next().await;
            let gone = requests.consume_after(&log, first - 1).await?;
            let later = requests.consume_after(&log, first + 2).await?;
            Ok((second, gone.is_none(), later.is_none()))
        });
        let (second, is_gone, is_later) = found.unwrap();
        assert!(matches!(second, Consumed::Entry(_, Some(text)) if text == "second"));
        assert!(is_gone && is_later);
    }
}

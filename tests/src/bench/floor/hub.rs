//! Minimal programs that send and receive through a NATS server: each message and each event of a
//! journal is published once and acknowledged, and nothing else. "Once" needs an ID that the server
//! recognizes when a publish is repeated, and an answer to the acknowledgement of a received message.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, Stream};
use async_nats::jetstream::{self, Context, Message};
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::runtime::Runtime;

use super::inbox::entry;
use super::receiver::Server;
use crate::bench::roles::{ready, say, until_closed};

const STREAM: &str = "floor";
/// Received messages that are acknowledged at the same time.
const AT_ONCE: usize = 64;

/// A connection to the server.
pub(crate) struct BareHub {
    runtime: Runtime,
    context: Context,
}

impl BareHub {
    /// Connects.
    pub(crate) fn connect(url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let client = runtime.block_on(async_nats::connect(url))?;
        let context = runtime.block_on(async { jetstream::new(client) });
        Ok(Self { runtime, context })
    }

    /// Creates the stream, or empties it.
    pub(crate) fn create(&self) -> Result<()> {
        self.runtime.block_on(async {
            let config = Config {
                name: STREAM.to_owned(),
                subjects: vec![format!("{STREAM}.>")],
                max_messages_per_subject: 1,
                ..Config::default()
            };
            let stream = self.context.get_or_create_stream(config).await?;
            stream.purge().await?;
            Ok(())
        })
    }

    /// Publishes a message and its event, and waits for both acknowledgements.
    pub(crate) fn send(&self, from: &str, number: usize) -> Result<()> {
        self.runtime.block_on(send(&self.context, from, number))
    }
}

async fn send(context: &Context, from: &str, number: usize) -> Result<()> {
    let message = entry(number).to_string();
    let event = format!("{STREAM}.log.{from}-{number}");
    let event = publish(context, event, message.clone()).await?;
    let mail = format!("{STREAM}.mail.{from}-{number}");
    let mail = publish(context, mail, message).await?;
    event.await?;
    mail.await?;
    Ok(())
}

/// Publishes under a subject that is used once, with an ID that is as long as a UUID.
async fn publish(context: &Context, subject: String, payload: String) -> Result<PublishAckFuture> {
    let id = format!("{subject:->36}");
    let message = PublishMessage::build().payload(payload.into());
    let published = context.send_publish(subject, message.message_id(id));
    Ok(published.await?)
}

/// Sends a number of messages and prints the nanoseconds of each.
pub(crate) fn play(words: &[&str]) -> Result<()> {
    let [url, count] = words else {
        bail!("bare-send URL COUNT");
    };
    let (hub, from) = (BareHub::connect(url)?, std::process::id().to_string());
    let mut times = Vec::new();
    ready()?;
    for number in 0..count.parse()? {
        let began = Instant::now();
        hub.send(&from, number)?;
        times.push(began.elapsed().as_nanos().to_string());
    }
    say(&times.join(" "))
}

/// Records that a number of messages was delivered, says so, and waits until standard input is
/// closed.
pub(crate) fn drain(words: &[&str]) -> Result<()> {
    let [url, count] = words else {
        bail!("bare-drain URL COUNT")
    };
    let count = count.parse()?;
    receive(url, |context, messages| async move {
        let marked = messages.enumerate().map(|(number, message)| {
            let context = context.clone();
            async move { mark(&context, &message?, number).await }
        });
        let marked = marked.buffer_unordered(AT_ONCE).take(count);
        marked.try_for_each(|()| async { Ok(()) }).await?;
        say("done")
    })
}

/// Sends a request to a model server for each message, and records that it was delivered.
pub(crate) fn ask(words: &[&str]) -> Result<()> {
    let [url, address, body] = words else {
        bail!("bare-ask URL ADDRESS BODY");
    };
    let body = std::fs::read(Path::new(body))?;
    let mut server = Server::connect(address)?;
    receive(url, |context, mut messages| async move {
        let mut number = 0;
        while let Some(message) = messages.next().await {
            tokio::task::block_in_place(|| server.ask(&body))?;
            mark(&context, &message?, number).await?;
            number += 1;
        }
        Ok(())
    })
}

/// Works with the messages that arrive, until standard input is closed. Prints why that fails.
fn receive<W>(url: &str, work: impl FnOnce(Context, pull::Stream) -> W) -> Result<()>
where
    W: Future<Output = Result<()>> + Send + 'static,
{
    let BareHub { runtime, context } = BareHub::connect(url)?;
    let stream = runtime.block_on(context.get_stream(STREAM))?;
    let messages = runtime.block_on(messages(&stream))?;
    let work = work(context, messages);
    runtime.spawn(async move {
        match work.await {
            Ok(()) => Ok(()),
            Err(error) => say(&format!("{error:#}")),
        }
    });
    ready()?;
    until_closed();
    Ok(())
}

/// Publishes the event of a delivery, and acknowledges the message.
async fn mark(context: &Context, message: &Message, number: usize) -> Result<()> {
    let event = format!("{STREAM}.log.read-{number}");
    publish(context, event, "read".to_owned()).await?.await?;
    let acknowledged = message.double_ack().await;
    acknowledged.map_err(|error| anyhow!(error))
}

async fn messages(stream: &Stream) -> Result<pull::Stream> {
    let config = pull::Config {
        filter_subject: format!("{STREAM}.mail.*"),
        deliver_policy: DeliverPolicy::New,
        ..pull::Config::default()
    };
    Ok(stream.create_consumer(config).await?.messages().await?)
}

//! Minimal programs that send and receive through a NATS server: each message and each event of a
//! journal is published and acknowledged, and nothing else.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::stream::{Config, Stream};
use async_nats::jetstream::{self, Context};
use futures::StreamExt as _;
use tokio::runtime::Runtime;

use super::inbox::entry;
use super::receiver::Server;
use crate::bench::roles::{ready, say, until_closed};

const STREAM: &str = "floor";

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
    let event = context.publish(event, message.clone().into()).await?;
    let mail = format!("{STREAM}.mail.{from}-{number}");
    let mail = context.publish(mail, message.into()).await?;
    event.await?;
    mail.await?;
    Ok(())
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

/// Records that each message was delivered, until standard input is closed.
pub(crate) fn drain(words: &[&str]) -> Result<()> {
    let [url] = words else {
        bail!("bare-drain URL")
    };
    receive(url, None)
}

/// Sends a request to a model server for each message first.
pub(crate) fn ask(words: &[&str]) -> Result<()> {
    let [url, address, body] = words else {
        bail!("bare-ask URL ADDRESS BODY");
    };
    let body = std::fs::read(Path::new(body))?;
    receive(url, Some((Server::connect(address)?, body)))
}

fn receive(url: &str, mut model: Option<(Server, Vec<u8>)>) -> Result<()> {
    let BareHub { runtime, context } = BareHub::connect(url)?;
    let stream = runtime.block_on(context.get_stream(STREAM))?;
    let mut messages = runtime.block_on(messages(&stream))?;
    runtime.spawn(async move {
        let mut number = 0;
        while let Some(message) = messages.next().await {
            if let Some((server, body)) = &mut model {
                tokio::task::block_in_place(|| server.ask(body))?;
            }
            let event = format!("{STREAM}.log.read-{number}");
            context.publish(event, "read".into()).await?.await?;
            let message = message.ok().context("a message")?;
            message.ack().await.ok().context("an acknowledgement")?;
            number += 1;
        }
        anyhow::Ok(())
    });
    ready()?;
    until_closed();
    Ok(())
}

async fn messages(stream: &Stream) -> Result<pull::Stream> {
    let config = pull::Config {
        filter_subject: format!("{STREAM}.mail.*"),
        deliver_policy: DeliverPolicy::New,
        ..pull::Config::default()
    };
    Ok(stream.create_consumer(config).await?.messages().await?)
}

//! Teams on a hub: a NATS server for each test.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_nats::jetstream;
use futures::StreamExt as _;
use rustix::process::Signal;
pub(crate) use swarm_hubkit::wait_for;
use swarm_hubkit::{NatsServer, has_server};
use swarm_protocol::SystemClock;
use swarm_store::{HubSettings, HubStore, StoreLimits, TeamStore};
use tokio::runtime::Builder;

use crate::world::{Kind, World};

/// Returns whether a test must be skipped. Says so, since a silent pass would look like a proof.
#[expect(
    clippy::print_stderr,
    reason = "the developer must see that the test was skipped"
)]
pub(crate) fn has_no_server() -> bool {
    let is_missing = !has_server();
    if is_missing {
        eprintln!("NOT PROVEN HERE: nats-server is not installed, so no team on a hub was tried");
    }
    is_missing
}

pub(crate) fn settings(url: String) -> HubSettings {
    HubSettings {
        url,
        credentials: None,
        ca: None,
    }
}

struct Hub {
    store: HubStore,
    server: Arc<NatsServer>,
    is_held: Arc<AtomicBool>,
    _directory: tempfile::TempDir,
}

impl Kind for Hub {
    fn store(&self) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone())
    }

    fn limited(&self, limits: StoreLimits) -> Arc<dyn TeamStore> {
        Arc::new(self.store.clone().with_limits(limits))
    }

    fn hold(&self) -> Box<dyn Any> {
        self.is_held.store(true, Ordering::SeqCst);
        self.server.signal(Signal::STOP);
        Box::new(Stopped(Arc::clone(&self.server), Arc::clone(&self.is_held)))
    }

    fn content(&self) -> String {
        self.server.signal(Signal::CONT);
        let content = content(&self.server.url());
        if self.is_held.load(Ordering::SeqCst) {
            self.server.signal(Signal::STOP);
        }
        format!("{content:?}")
    }
}

/// A server that is stopped, so that it answers nothing.
struct Stopped(Arc<NatsServer>, Arc<AtomicBool>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.1.store(false, Ordering::SeqCst);
        self.0.signal(Signal::CONT);
    }
}

/// Subjects that the stream of the team has.
pub(crate) fn subjects(url: &str, pattern: &str) -> Vec<String> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let context = jetstream::new(client);
        let stream = context.get_stream_no_info("swarm-crew").await.unwrap();
        let mut found = stream.info_with_subjects(pattern).await.unwrap();
        let mut subjects = Vec::new();
        while let Some(subject) = found.next().await {
            subjects.push(subject.unwrap().0);
        }
        subjects
    })
}

/// Returns the value of a record of the team.
pub(crate) fn value(url: &str, record: &str) -> serde_json::Value {
    let subject = format!("swarm.crew.record.{record}");
    let (_, whole) = &content(url)[&subject];
    serde_json::from_str(whole).unwrap()
}

/// Removes what the stream of the team has under a pattern.
pub(crate) fn purge(url: &str, pattern: &str) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let context = jetstream::new(client);
        let stream = context.get_stream_no_info("swarm-crew").await.unwrap();
        stream.purge().filter(pattern).await.unwrap();
    });
}

/// Stores a message in the stream of the team.
pub(crate) fn publish(url: &str, subject: &str, value: &str) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let context = jetstream::new(client);
        let value = value.to_owned().into();
        let sent = context.publish(subject.to_owned(), value).await;
        sent.unwrap().await.unwrap();
    });
}

/// Returns the revision of a record of the team.
pub(crate) fn revision(url: &str, record: &str) -> u64 {
    content(url)[&format!("swarm.crew.record.{record}")].0
}

/// Values of records, and entries of logs, by subject, with their revisions. Leases change by
/// themselves.
fn content(url: &str) -> BTreeMap<String, (u64, String)> {
    let kinds = [
        "swarm.crew.record.>",
        "swarm.crew.page.>",
        "swarm.crew.log.>",
    ];
    let subjects: Vec<String> = kinds.iter().flat_map(|kind| subjects(url, kind)).collect();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let context = jetstream::new(client);
        let stream = context.get_stream_no_info("swarm-crew").await.unwrap();
        let mut values = BTreeMap::new();
        for subject in subjects {
            let message = stream
                .get_last_raw_message_by_subject(&subject)
                .await
                .unwrap();
            let text = String::from_utf8(message.payload.to_vec()).unwrap();
            // An entry of a log may have several lines.
            let record = serde_json::from_str::<serde_json::Value>(&text).ok();
            let value = record.and_then(|record| Some(record.get("value")?.to_string()));
            values.insert(subject, (message.sequence, value.unwrap_or(text)));
        }
        values
    })
}

/// A team on a hub; `None` if the test must be skipped.
pub(crate) fn hub() -> Option<World> {
    if has_no_server() {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&directory.path().join("server"), &[]);
    let root = directory.path().join("root");
    let store = HubStore::new(root, settings(server.url()), Arc::new(SystemClock)).unwrap();
    Some(World::of(Hub {
        store,
        server: Arc::new(server),
        is_held: Arc::default(),
        _directory: directory,
    }))
}

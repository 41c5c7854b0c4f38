//! Waiting for files to change.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::select_all;
use swarm_os::{DirectoryWatcher, NameFilter, Subscription};
use swarm_protocol::{MemberName, TeamName};
use swarm_store::{Changes, LeaseEnd, Team, Topic};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Result;

/// Watches topics of teams and files. Events are only hints: after each wake-up the caller reads again.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: DirectoryWatcher,
    topics: BTreeMap<(TeamName, Topic), Changes>,
    files: Vec<Subscription>,
    /// Leases of members that were running at the last read.
    leases: BTreeMap<(TeamName, MemberName), LeaseEnd>,
    runtime: Runtime,
    /// Set if Ctrl-C ends a wait.
    ctrl_c: Option<Signal>,
    interrupted: bool,
}

impl Watch {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            watcher: DirectoryWatcher::new(),
            topics: BTreeMap::new(),
            files: Vec::new(),
            leases: BTreeMap::new(),
            runtime: Builder::new_current_thread().enable_all().build()?,
            ctrl_c: None,
            interrupted: false,
        })
    }

    /// From now on Ctrl-C ends a wait instead of this process.
    pub(super) fn heed_ctrl_c(&mut self) -> Result<()> {
        let _inside = self.runtime.enter();
        self.ctrl_c = Some(signal(SignalKind::interrupt())?);
        Ok(())
    }

    /// Returns whether Ctrl-C was pressed.
    pub(super) fn was_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Also watches a topic of a team; call it before the first read. Repeated calls have no effect.
    pub(super) fn topic(&mut self, team: &dyn Team, topic: Topic) {
        let watcher = &self.watcher;
        self.topics
            .entry((team.name().clone(), topic))
            .or_insert_with_key(|(_, topic)| team.watch(watcher, topic));
    }

    /// Also watches a file that is replaced or appended to.
    pub(super) fn file(&mut self, path: &Path) {
        if let (Some(directory), Some(name)) = (path.parent(), path.file_name()) {
            let names = NameFilter::Exact(vec![name.to_owned()]);
            self.files.push(self.watcher.subscribe(directory, names));
        }
    }

    /// Also wakes when the lease of a member is released. Only for members that were running at the
    /// last read; otherwise it wakes immediately.
    pub(super) fn lease_end(&mut self, team: &dyn Team, name: &MemberName) {
        let wait = self.leases.entry((team.name().clone(), name.clone()));
        wait.or_insert_with(|| team.lease_end(name));
    }

    /// Waits for a possible change until the deadline; returns `false` at the deadline.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> bool {
        let topics = self
            .topics
            .values_mut()
            .map(|topic| topic.changed().boxed());
        let files = self.files.iter_mut().map(|file| file.changed().boxed());
        let changed = select_all(topics.chain(files));
        let leases = &mut self.leases;
        let ended = async {
            if leases.is_empty() {
                return std::future::pending().await;
            }
            let (_, index, _) = select_all(leases.values_mut()).await;
            let ended = leases.keys().nth(index).cloned();
            ended.and_then(|ended| leases.remove(&ended));
        };
        let (ctrl_c, interrupted) = (&mut self.ctrl_c, &mut self.interrupted);
        let ctrl_c = async {
            match ctrl_c {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        let woken = async {
            tokio::select! {
                _ = changed => {}
                () = ended => {}
                _ = ctrl_c => *interrupted = true,
            }
        };
        self.runtime.block_on(async {
            let Some(deadline) = deadline else {
                woken.await;
                return true;
            };
            let in_time = tokio::time::timeout_at(deadline.into(), woken).await;
            in_time.is_ok()
        })
    }
}

/// Returns the deadline for a timeout in seconds; `None` without a timeout.
pub(super) fn deadline(seconds: Option<u64>) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_secs(seconds?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use swarm_protocol::{LifeKind, LifeRecord, SpawnId, SystemClock};
    use swarm_store::{BlockOn as _, MemoryStore, NewTeam, TeamStore as _};

    use super::*;

    #[test]
    fn a_released_lease_wakes_a_wait_once() {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(SystemClock);
        let store = MemoryStore::new(directory.path().to_owned(), clock);
        let new = NewTeam::new(TeamName::parse("crew").unwrap(), "/work", "a test");
        let team = store.team(&new.name);
        store.create_team(new).block_on().unwrap();
        let record = LifeRecord::new(LifeKind::Task, 1, "", SpawnId::random());
        let lead = MemberName::lead();
        let lease = team.take_life(&lead, &record).block_on().unwrap();
        let mut watch = Watch::new().unwrap();
        watch.topic(&*team, Topic::Tasks);
        watch.lease_end(&*team, &lead);
        watch.lease_end(&*team, &lead);
        assert_eq!(watch.leases.len(), 1);
        drop(lease);
        assert!(watch.wait(deadline(Some(60))));
        assert!(watch.leases.is_empty());
    }
}

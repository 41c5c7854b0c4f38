//! Waiting for files to change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::select_all;
use swarm_os::{DirectoryWatcher, NameFilter, OsError, Subscription};
use swarm_protocol::TeamName;
use swarm_store::{Changes, Team, Topic};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot::Receiver;

use crate::failure::Failure;

/// Watches topics of teams and files. Events are only hints: after each wake-up the caller reads again.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: DirectoryWatcher,
    topics: BTreeMap<(TeamName, Topic), Changes>,
    files: Vec<Subscription>,
    /// Life files of members that were running at the last read.
    deaths: BTreeMap<PathBuf, Receiver<Result<(), OsError>>>,
    runtime: Runtime,
    /// Set if Ctrl-C ends a wait.
    ctrl_c: Option<Signal>,
    interrupted: bool,
}

impl Watch {
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {
            watcher: DirectoryWatcher::new(),
            topics: BTreeMap::new(),
            files: Vec::new(),
            deaths: BTreeMap::new(),
            runtime: Builder::new_current_thread().enable_all().build()?,
            ctrl_c: None,
            interrupted: false,
        })
    }

    /// From now on Ctrl-C ends a wait instead of this process.
    pub(super) fn heed_ctrl_c(&mut self) -> Result<(), Failure> {
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

    /// Also wakes when the lock on this life file is released. Only for members that were running
    /// at the last read; otherwise it wakes immediately.
    pub(super) fn death(&mut self, life: PathBuf) {
        let wait = self.deaths.entry(life);
        wait.or_insert_with_key(|life| swarm_os::death(life.clone()));
    }

    /// Waits for a possible change until the deadline; returns `false` at the deadline.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> bool {
        let topics = self
            .topics
            .values_mut()
            .map(|topic| topic.changed().boxed());
        let files = self.files.iter_mut().map(|file| file.changed().boxed());
        let changed = select_all(topics.chain(files));
        let deaths = &mut self.deaths;
        let died = async {
            if deaths.is_empty() {
                return std::future::pending().await;
            }
            let (_, index, _) = select_all(deaths.values_mut()).await;
            let life = deaths.keys().nth(index).cloned();
            life.and_then(|life| deaths.remove(&life));
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
                () = died => {}
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
    use swarm_os::LifeHolder;

    use super::*;

    #[test]
    fn released_life_lock_wakes_a_wait_once() {
        let directory = tempfile::tempdir().unwrap();
        let life = directory.path().join("life");
        let holder = LifeHolder::take(&life, b"{}").unwrap();
        let mut watch = Watch::new().unwrap();
        watch.file(&directory.path().join("nothing"));
        watch.death(life.clone());
        watch.death(life);
        assert_eq!(watch.deaths.len(), 1);
        drop(holder);
        // The fallback poll may also wake it.
        let deadline = deadline(Some(60));
        while !watch.deaths.is_empty() {
            assert!(
                watch.wait(deadline),
                "the released lock did not wake the wait"
            );
        }
    }
}

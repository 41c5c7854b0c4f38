//! Teams as files under one config directory.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_os::LockOptions;
use swarm_protocol::{Clock, Event, TeamName, partial_debug};

use crate::StoreLimits;
use crate::file::layout::Layout;
use crate::file::mailbox::{LastInbox, QuietInboxes};
use crate::observer::Observer;

/// Minimum number of tasks in an interrupted write for which its completion is announced.
const WORTH_TELLING: usize = 100;

/// [`TeamStore`](crate::TeamStore) on Claude Code's files below one config directory (`~/.claude`
/// by default).
#[derive(Clone)]
pub struct FileStore {
    pub(crate) layout: Layout,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: StoreLimits,
    pub(crate) lock_options: LockOptions,
    pub(crate) quiet: Arc<QuietInboxes>,
    pub(crate) last_inbox: Arc<LastInbox>,
    pub(crate) observer: Observer,
    announcer: Option<Arc<Announcer>>,
}

/// Receives the number of tasks in an interrupted write that is about to be completed.
type Announcer = dyn Fn(&TeamName, usize) + Send + Sync;

partial_debug!(FileStore: layout, limits);

impl FileStore {
    /// Creates a store below `root`, which need not exist yet. The lock type depends on the file
    /// system of `root`.
    pub fn new(root: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self {
            lock_options: LockOptions::below(&root),
            layout: Layout::new(root),
            clock,
            limits: StoreLimits::default(),
            quiet: Arc::default(),
            last_inbox: Arc::default(),
            observer: Observer::default(),
            announcer: None,
        }
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: StoreLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces the lock options.
    #[must_use]
    pub fn with_lock_options(mut self, options: LockOptions) -> Self {
        self.lock_options = options;
        self
    }

    /// Sets an observer of journal events. It is called once for each event, in the process that
    /// records it, after the event is readable. Locks are held during the call, so it must not
    /// block or call the store.
    #[must_use]
    pub fn on_event(mut self, observe: impl Fn(&TeamName, &Event) + Send + Sync + 'static) -> Self {
        self.observer = Observer::new(observe);
        self
    }

    /// Sets a callback that runs before the store completes an interrupted write of many tasks,
    /// which takes a noticeable time.
    #[must_use]
    pub fn announcing(
        mut self,
        announcer: impl Fn(&TeamName, usize) + Send + Sync + 'static,
    ) -> Self {
        self.announcer = Some(Arc::new(announcer));
        self
    }

    pub(crate) fn announce_completion(&self, team: &TeamName, tasks: usize) {
        if let Some(announcer) = self.announcer.as_ref().filter(|_| tasks >= WORTH_TELLING) {
            announcer(team, tasks);
        }
    }

    pub(crate) fn notify_observer(&self, team: &TeamName, event: &Event) {
        self.observer.notify(team, event);
    }
}

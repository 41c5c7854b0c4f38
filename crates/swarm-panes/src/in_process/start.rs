//! A program that runs as a task: what it gets, and how it is asked to stop.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::PaneId;
use tokio::sync::watch;

use crate::PaneCommand;

/// How far a task has been told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StopStage {
    No,
    Asked,
    Abandoned,
}

/// Called when a task must stop.
type Tell = Box<dyn FnOnce() + Send>;

/// Tells a task to stop, as SIGTERM and SIGKILL tell a process.
#[derive(Clone)]
pub struct InProcessStop {
    stage: watch::Receiver<StopStage>,
    tell: Arc<Mutex<Option<Tell>>>,
}

/// Stops a task.
#[derive(Clone)]
pub(super) struct StopSender {
    stage: watch::Sender<StopStage>,
    tell: Arc<Mutex<Option<Tell>>>,
}

impl StopSender {
    pub(super) fn new() -> (Self, InProcessStop) {
        let (sender, receiver) = watch::channel(StopStage::No);
        let tell = Arc::<Mutex<Option<Tell>>>::default();
        let stop = InProcessStop {
            stage: receiver,
            tell: Arc::clone(&tell),
        };
        let stage = sender;
        (Self { stage, tell }, stop)
    }

    /// Tells the task, unless it was told this or more before.
    pub(super) fn send(&self, stage: StopStage) {
        self.stage.send_if_modified(|now| {
            let is_later = *now < stage;
            *now = stage.max(*now);
            is_later
        });
        let tell = self.tell.lock().take();
        if let Some(tell) = tell {
            tell();
        }
    }
}

impl InProcessStop {
    /// Calls `tell` when the task must stop, on the thread that stops it: that of the task may be
    /// waiting for a lock. `tell` must not block.
    pub fn on_asked(&self, tell: impl FnOnce() + Send + 'static) {
        let mut kept = self.tell.lock();
        if *self.stage.borrow() == StopStage::No {
            *kept = Some(Box::new(tell));
        } else {
            tell();
        }
    }

    /// Resolves when the task must stop.
    pub async fn asked(&mut self) {
        self.reached(StopStage::Asked).await;
    }

    /// Resolves when the task has not stopped in time: it must return immediately and abandon what
    /// it is waiting for.
    pub async fn abandoned(&mut self) {
        self.reached(StopStage::Abandoned).await;
    }

    async fn reached(&mut self, stage: StopStage) {
        // Without a sender, nobody can stop the task any more.
        if self.stage.wait_for(|now| *now >= stage).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl fmt::Debug for InProcessStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InProcessStop")
            .field(&*self.stage.borrow())
            .finish()
    }
}

/// A program to be run as a task.
#[derive(Debug)]
pub struct InProcessStart {
    /// The pane that stands for the task.
    pub pane: PaneId,
    /// The command. Its program is not executed: the task does what it would do.
    pub command: PaneCommand,
    /// The output file, for appending.
    pub output: File,
    /// Tells the task to stop.
    pub stop: InProcessStop,
}

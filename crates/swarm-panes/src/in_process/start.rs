//! A program that runs as a task: what it gets, and how it is told to stop.

use std::fs::File;

use swarm_protocol::PaneId;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::PaneCommand;

/// How far a task has been told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StopStage {
    No,
    Asked,
    Abandoned,
}

/// Tells a task to stop, as SIGTERM and SIGKILL tell a process.
#[derive(Debug, Clone)]
pub struct InProcessStop(watch::Receiver<StopStage>);

impl InProcessStop {
    pub(super) fn new() -> (watch::Sender<StopStage>, Self) {
        let (sender, receiver) = watch::channel(StopStage::No);
        (sender, Self(receiver))
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
        if self.0.wait_for(|now| *now >= stage).await.is_err() {
            std::future::pending::<()>().await;
        }
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
    /// The runtime of the lead.
    pub lead: Handle,
}

//! Runs the members of a lead that are tasks of its process.

use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use swarm_os::{DirectoryWatcher, Subscription};
use swarm_protocol::SpawnId;
use tokio::sync::watch;

use super::start::{InProcessStart, InProcessStop, StopSender, StopStage};
use crate::PaneError;
use crate::record::{self, End, Records};

/// Time that a task has to stop by itself.
const GRACE: Duration = Duration::from_secs(2);

/// Time that a task has to return once it was abandoned.
const RETURN: Duration = Duration::from_secs(1);

/// Exit code of a task that panicked, as of a Rust program.
const PANICKED: u8 = 101;

/// Runs a task to its end and returns its exit code. Called on a thread of the task.
type Run = dyn Fn(InProcessStart) -> u8 + Send + Sync;

/// The tasks of this process. Clones share them.
#[derive(Clone)]
pub struct InProcessHost(Arc<Tasks>);

struct Tasks {
    run: Box<Run>,
    watcher: Arc<DirectoryWatcher>,
    /// The tasks that this process started, until their panes are closed.
    started: Mutex<HashMap<SpawnId, Task>>,
}

#[derive(Clone)]
struct Task {
    stop: StopSender,
    end: watch::Receiver<Option<End>>,
}

impl InProcessHost {
    /// Creates a host whose tasks execute `run`. `watcher` is the one of this process.
    pub fn new(
        watcher: Arc<DirectoryWatcher>,
        run: impl Fn(InProcessStart) -> u8 + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Tasks {
            run: Box::new(run),
            watcher,
            started: Mutex::default(),
        }))
    }

    /// Starts a task that has a record. The task is asked to stop when any process removes the
    /// record.
    pub(super) fn start(
        &self,
        records: &Records,
        spawn_id: SpawnId,
        start: impl FnOnce(InProcessStop) -> InProcessStart,
    ) -> Result<(), PaneError> {
        let directory = &records.directory;
        let record = self.0.watcher.subscribe(directory, record::name(spawn_id));
        let (stop_sender, stop) = StopSender::new();
        let (end_sender, end_receiver) = watch::channel(None);
        let task = Task {
            stop: stop_sender,
            end: end_receiver,
        };
        let (tasks, start) = (Arc::clone(&self.0), start(stop));
        let own = records.clone();
        let thread = thread::Builder::new().name(spawn_id.to_string());
        let begun = thread.spawn(move || {
            let end = End::exited(tasks.run_caught(start));
            own.end(spawn_id, &end);
            end_sender.send_replace(Some(end));
        });
        begun.map_err(|error| PaneError::io("start a thread for a task of", directory, error))?;
        self.0.started.lock().insert(spawn_id, task.clone());
        tokio::spawn(follow_record(record, records.clone(), spawn_id, task));
        Ok(())
    }

    /// Returns a receiver of the end of a task; `None` if this process did not start it.
    pub(super) fn end_of(&self, spawn_id: SpawnId) -> Option<watch::Receiver<Option<End>>> {
        let started = self.0.started.lock();
        started.get(&spawn_id).map(|task| task.end.clone())
    }

    /// Stops a task of this process. Returns `false` if it does not return even though it was
    /// abandoned.
    pub(super) async fn stop(&self, spawn_id: SpawnId) -> bool {
        let task = self.0.started.lock().get(&spawn_id).cloned();
        match task {
            Some(task) => task.stop().await,
            None => true,
        }
    }

    /// Forgets a task whose pane was closed.
    pub(super) fn forget(&self, spawn_id: SpawnId) {
        self.0.started.lock().remove(&spawn_id);
    }

    /// Stops all tasks, before the process exits.
    pub async fn stop_all(&self) {
        let tasks: Vec<Task> = self.0.started.lock().values().cloned().collect();
        join_all(tasks.iter().map(Task::stop)).await;
    }
}

impl Tasks {
    /// Runs a task. A panic ends the task and not the process.
    fn run_caught(&self, start: InProcessStart) -> u8 {
        let output = start.output.try_clone();
        let run = || (self.run)(start);
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let text = text.unwrap_or("unknown cause");
            tracing::error!(text, "a task panicked");
            if let Ok(mut output) = output {
                writeln!(output, "panicked: {text}").ok();
            }
            PANICKED
        })
    }
}

impl Task {
    async fn stop(&self) -> bool {
        for (stage, time) in [(StopStage::Asked, GRACE), (StopStage::Abandoned, RETURN)] {
            self.stop.send(stage);
            if tokio::time::timeout(time, self.ended()).await.is_ok() {
                return true;
            }
        }
        false
    }

    async fn ended(&self) {
        // Without a sender, its thread has ended.
        self.end.clone().wait_for(Option::is_some).await.ok();
    }
}

/// Stops a task when its record is removed.
async fn follow_record(mut changes: Subscription, records: Records, spawn_id: SpawnId, task: Task) {
    while records.exists(spawn_id) {
        tokio::select! {
            () = changes.changed() => {}
            () = task.ended() => return,
        }
    }
    if !task.stop().await {
        tracing::warn!(spawn = %spawn_id, "a task does not return; it ends with the process");
    }
}

impl PartialEq for InProcessHost {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for InProcessHost {}

impl fmt::Debug for InProcessHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.started.lock().keys()).finish()
    }
}

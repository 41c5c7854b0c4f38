//! A merge queue that only records its calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_protocol::TaskId;
use swarm_team::{MergeError, PreparedMerge, WorkMerger};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
pub(crate) struct RecordedMerger {
    told: Arc<Mutex<Vec<String>>>,
    files: PathBuf,
    /// What the next calls of `apply` return, last first.
    pub(crate) refusals: Arc<Mutex<Vec<MergeError>>>,
    /// Results of the next waits for the target, last first; then they succeed.
    pub(crate) waits: Arc<Mutex<Vec<Result<(), MergeError>>>>,
}

impl RecordedMerger {
    /// A merger whose merges have the files of a directory.
    pub(crate) fn new(told: Arc<Mutex<Vec<String>>>, files: impl Into<PathBuf>) -> Self {
        Self {
            told,
            files: files.into(),
            refusals: Arc::default(),
            waits: Arc::default(),
        }
    }
}

#[async_trait]
impl WorkMerger for RecordedMerger {
    async fn prepare(
        &self,
        worktree: &Path,
        _: TaskId,
        _: &CancellationToken,
    ) -> Result<Option<Box<dyn PreparedMerge>>, MergeError> {
        let line = format!("prepare {}", worktree.display());
        self.told.lock().push(line);
        Ok(Some(Box::new(self.clone())))
    }

    fn wait_limit(&self) -> Duration {
        Duration::from_hours(1)
    }

    async fn wait_for_target(
        &self,
        _: &Path,
        _: Duration,
        _: &CancellationToken,
    ) -> Result<(), MergeError> {
        self.told.lock().push("wait".to_owned());
        tokio::time::pause();
        tokio::time::sleep(Duration::from_mins(5)).await;
        tokio::time::resume();
        self.waits.lock().pop().unwrap_or(Ok(()))
    }
}

#[async_trait]
impl PreparedMerge for RecordedMerger {
    async fn check_out(&mut self) -> Result<PathBuf, MergeError> {
        self.told.lock().push("check out".to_owned());
        Ok(self.files.clone())
    }

    async fn apply(self: Box<Self>) -> Result<(), MergeError> {
        self.told.lock().push("apply".to_owned());
        self.refusals.lock().pop().map_or(Ok(()), Err)
    }
}

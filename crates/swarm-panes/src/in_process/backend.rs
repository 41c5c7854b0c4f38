//! Tasks of a lead's process as a [`PaneBackend`].

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use swarm_os::process::Process;
use swarm_protocol::{BackendType, SpawnId};
use tokio::sync::watch;

use super::host::InProcessHost;
use super::start::InProcessStart;
use crate::record::{End, Records};
use crate::{
    BackendKind, Pane, PaneBackend, PaneCommand, PaneError, PaneSpec, PaneStatus, PaneText,
    SelectedBackend, Selection, Started, TaggedPane, TerminalFacts, log,
};

/// Members that are tasks of their lead's process and end with it. Each has a thread and writes its
/// output to a file. No signal is sent for them: it would reach the lead. A record in a directory
/// lets any process find a task and, by removing the record, tell it to stop.
#[derive(Debug)]
pub struct InProcessBackend {
    records: Records,
    /// Where this process runs tasks; `None` if it is not a lead.
    host: Option<InProcessHost>,
}

impl InProcessBackend {
    /// Creates a backend with its records in a subdirectory of `directory`, which is created with
    /// mode 0700 on demand. Without a host, it finds and stops the tasks of other processes, but
    /// starts none.
    pub fn new(directory: &Path, host: Option<InProcessHost>) -> Self {
        Self {
            records: Records {
                directory: directory.join(BackendType::InProcess.name()),
                backend: BackendType::InProcess,
            },
            host,
        }
    }

    fn host(&self) -> Result<&InProcessHost, PaneError> {
        self.host.as_ref().ok_or_else(|| PaneError::Unavailable {
            backend: BackendType::InProcess,
            why: "only the lead itself (`swarm run`, `swarm lead`) starts teammates in its process"
                .to_owned(),
        })
    }

    fn end_of(&self, spawn_id: SpawnId) -> Option<watch::Receiver<Option<End>>> {
        self.host.as_ref()?.end_of(spawn_id)
    }
}

#[async_trait]
impl PaneBackend for InProcessBackend {
    fn kind(&self) -> BackendType {
        BackendType::InProcess
    }

    async fn open(&self, spec: &PaneSpec) -> Result<Pane, PaneError> {
        self.host()?;
        self.records.create(spec)?;
        Ok(Pane::new(self.records.pane_id(spec.spawn_id), None))
    }

    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError> {
        command.check()?;
        let host = self.host()?;
        let mut record = self.records.existing(pane)?;
        let file = self.records.output_of(command, record.spawn_id);
        let (output, before) = log::open_with_length(&file)?;
        record.log = Some(file);
        record.log_start = before;
        record.end = None;
        record.process = Process::running(std::process::id());
        self.records.write(&record)?;
        host.start(&self.records, record.spawn_id, |stop| InProcessStart {
            pane: pane.id.clone(),
            command: command.clone(),
            output,
            stop,
        })?;
        tracing::debug!(member = %record.member, spawn = %record.spawn_id, "task started");
        Ok(Started { pid: None })
    }

    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let record = self.records.of(pane)?;
        Ok(record.map_or(PaneStatus::Gone, |record| record.status()))
    }

    async fn capture(&self, pane: &Pane, part: PaneText) -> Result<String, PaneError> {
        self.records.existing(pane)?.output(part)
    }

    /// Asks the task to stop and, if it does not, abandons it. A task of another process notices
    /// the removal of its record, and stops soon after.
    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        let Some(record) = self.records.of(pane)? else {
            return Ok(());
        };
        record.check_owner(pane, owner)?;
        if let Some(host) = &self.host {
            if !host.stop(record.spawn_id).await {
                return Err(PaneError::Stuck(pane.id.clone()));
            }
            host.forget(record.spawn_id);
        }
        self.records.remove(record.spawn_id)
    }

    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        // It ends with its lead's process at the latest.
        match self.records.ended(pane, |spawn| self.end_of(spawn)).await? {
            Some(status) => Ok(status),
            None => self.status(pane).await,
        }
    }

    /// There is no pane to attach to, only a file to follow.
    async fn attach_command(&self, pane: &Pane) -> Vec<OsString> {
        let record = self.records.of(pane).ok().flatten();
        record.map_or_else(Vec::new, |record| record.follow_command())
    }

    async fn all_panes(&self) -> Result<Vec<TaggedPane>, PaneError> {
        self.records.tagged()
    }
}

/// The kind of members that are tasks of their lead's process.
#[derive(Debug)]
pub(crate) struct InProcess;

impl InProcess {
    fn open(facts: &TerminalFacts) -> InProcessBackend {
        InProcessBackend::new(&facts.own_socket_dir, facts.in_process.clone())
    }
}

#[async_trait]
impl BackendKind for InProcess {
    fn backend(&self) -> BackendType {
        BackendType::InProcess
    }

    async fn select(&self, wanted: &Selection<'_>) -> Result<SelectedBackend, PaneError> {
        let facts = wanted.facts;
        let backend = Self::open(facts);
        backend.host()?;
        let why = "teammates run in the lead's process and end with it";
        Ok((Arc::new(backend), why.to_owned()))
    }

    fn backend_for_pane(
        &self,
        _socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        Ok(Arc::new(Self::open(facts)))
    }

    fn has_panes(&self) -> bool {
        false
    }
}

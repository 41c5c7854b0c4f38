//! Headless members: each runs in its own process group and writes its output to a file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_protocol::{BackendType, PaneId, SpawnId};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::record::{End, Records, reaped};
use crate::{
    BackendKind, Pane, PaneBackend, PaneCommand, PaneError, PaneSpec, PaneStatus, PaneText,
    SelectedBackend, Selection, Started, TaggedPane, TerminalFacts, log, text,
};
use swarm_os::process::Process;

/// Time that a process has to exit after SIGTERM when its pane is closed.
const GRACE: Duration = Duration::from_secs(2);

/// Members without a terminal. Each has its own process group, no input, and writes its output to a
/// file; it survives the process that started it. A small record in a directory lets any process
/// find it again.
#[derive(Debug)]
pub struct HeadlessBackend {
    records: Records,
    /// Exit statuses of the processes that this process started: the kernel reports them only to
    /// the parent.
    ends: Mutex<HashMap<SpawnId, watch::Receiver<Option<End>>>>,
}

impl HeadlessBackend {
    /// Creates a backend with its records in `directory`, which is created with mode 0700 on
    /// demand.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            records: Records {
                directory,
                backend: BackendType::Headless,
            },
            ends: Mutex::new(HashMap::new()),
        }
    }

    fn end_of(&self, spawn_id: SpawnId) -> Option<watch::Receiver<Option<End>>> {
        let ends = self.ends.lock();
        ends.get(&spawn_id).cloned()
    }

    /// Waits for a child, so that no zombie remains, and records its exit status.
    fn reap(&self, mut child: Child, spawn_id: SpawnId) {
        let (exit_sender, exit_receiver) = watch::channel(None);
        self.ends.lock().insert(spawn_id, exit_receiver);
        let records = self.records.clone();
        tokio::spawn(async move {
            let end = match child.wait().await {
                Ok(status) => end(status),
                Err(error) => {
                    tracing::warn!(spawn = %spawn_id, %error, "cannot wait for the process");
                    return;
                }
            };
            records.end(spawn_id, &end);
            exit_sender.send_replace(Some(end));
        });
    }
}

fn end(status: ExitStatus) -> End {
    End {
        code: status.code(),
        signal: status.signal(),
    }
}

/// Starts the program. Returns the previous length of its output file.
fn spawn(command: &PaneCommand, file: &Path) -> Result<(Child, u64), PaneError> {
    let (output, before) = log::open_with_length(file)?;
    let errors = output
        .try_clone()
        .map_err(|e| PaneError::io("open", file, e))?;
    for (name, value) in &command.env {
        text::environment_word(name, value)?;
    }
    let child = Command::new(&command.program)
        .args(&command.args)
        .env_clear()
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&command.cwd)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        // Its own process group: signals from the spawner's terminal do not reach it, and it can be
        // terminated as a whole.
        .process_group(0)
        .kill_on_drop(false)
        .spawn()
        .map_err(|e| PaneError::io("run", &command.program, e))?;
    Ok((child, before))
}

#[async_trait]
impl PaneBackend for HeadlessBackend {
    fn kind(&self) -> BackendType {
        BackendType::Headless
    }

    async fn open(&self, spec: &PaneSpec) -> Result<Pane, PaneError> {
        self.records.create(spec)?;
        Ok(Pane::new(self.records.pane_id(spec.spawn_id), None))
    }

    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError> {
        command.check()?;
        let mut record = self.records.existing(pane)?;
        let output = self.records.output_of(command, record.spawn_id);
        let (child, before) = spawn(command, &output)?;
        let pid = child.id();
        record.log = Some(output);
        record.log_start = before;
        record.end = None;
        // The start time of a child that has already exited cannot be read; its exit status is
        // recorded by the reaper.
        record.process = pid.and_then(Process::running);
        let written = self.records.write(&record);
        self.reap(child, record.spawn_id);
        written?;
        tracing::debug!(member = %record.member, spawn = %record.spawn_id, ?pid, "program started");
        Ok(Started { pid })
    }

    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let Some(record) = self.records.of(pane)? else {
            return Ok(PaneStatus::Gone);
        };
        let status = record.status();
        let unknown_end = PaneStatus::Dead {
            code: None,
            signal: None,
        };
        match self.end_of(record.spawn_id) {
            // It is our child and has exited: its exit status is about to arrive.
            Some(exit_receiver) if status == unknown_end => {
                Ok(reaped(exit_receiver).await.unwrap_or(status))
            }
            _ => Ok(status),
        }
    }

    async fn capture(&self, pane: &Pane, part: PaneText) -> Result<String, PaneError> {
        self.records.existing(pane)?.output(part)
    }

    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        let Some(record) = self.records.of(pane)? else {
            return Ok(());
        };
        record.check_owner(pane, owner)?;
        let spawn_id = record.spawn_id;
        if let Some(process) = record.process {
            terminate_group(&pane.id, process).await?;
        }
        if let Some(exit_receiver) = self.end_of(spawn_id) {
            // The reaper writes the record; it must not be written again after it is removed here.
            reaped(exit_receiver).await;
        }
        self.ends.lock().remove(&spawn_id);
        self.records.remove(spawn_id)
    }

    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
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

/// Sends SIGTERM to a process group and, after [`GRACE`], SIGKILL.
async fn terminate_group(pane: &PaneId, process: Process) -> Result<(), PaneError> {
    match process.end_group(GRACE).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(PaneError::SurvivedKill {
            pane: pane.clone(),
            pid: process.id(),
        }),
        Err(error) => {
            let process = PathBuf::from(format!("process {}", process.pid));
            Err(PaneError::io("watch", &process, error))
        }
    }
}

/// The kind of members without a terminal.
#[derive(Debug)]
pub(crate) struct Headless;

impl Headless {
    fn open(facts: &TerminalFacts) -> Arc<dyn PaneBackend> {
        Arc::new(HeadlessBackend::new(facts.own_socket_dir.clone()))
    }
}

#[async_trait]
impl BackendKind for Headless {
    fn backend(&self) -> BackendType {
        BackendType::Headless
    }

    async fn select(&self, wanted: &Selection<'_>) -> Result<SelectedBackend, PaneError> {
        let Selection { facts, reason, .. } = *wanted;
        Ok((Self::open(facts), format!("running headless ({reason})")))
    }

    fn backend_for_pane(
        &self,
        _socket: Option<&Path>,
        facts: &TerminalFacts,
    ) -> Result<Arc<dyn PaneBackend>, PaneError> {
        Ok(Self::open(facts))
    }

    fn has_panes(&self) -> bool {
        false
    }
}

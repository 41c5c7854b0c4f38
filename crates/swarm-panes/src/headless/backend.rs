//! Processes without a terminal as a [`PaneBackend`].

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_protocol::{BackendType, PaneId, SpawnId, TeamName};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::record::{self, End, Record, default_log, spawn_of};
use crate::{
    Pane, PaneBackend, PaneCommand, PaneError, PaneSpec, PaneStatus, Started, TaggedPane,
    WindowView, log, text,
};
use swarm_os::process::Process;

/// Time that a process has to exit after SIGTERM when its pane is closed.
const GRACE: Duration = Duration::from_secs(2);

/// Members without a terminal. Each has its own process group, no input, and writes its output to a
/// file; it survives the process that started it. A small record in a directory lets any process
/// find it again.
#[derive(Debug)]
pub struct HeadlessBackend {
    directory: PathBuf,
    /// Exit statuses of the processes that this process started: the kernel reports them only to
    /// the parent.
    ends: Mutex<HashMap<SpawnId, watch::Receiver<Option<End>>>>,
}

impl HeadlessBackend {
    /// Creates a backend with its records in `directory`, which is created with mode 0700 on
    /// demand.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            ends: Mutex::new(HashMap::new()),
        }
    }

    fn record(&self, pane: &Pane) -> Result<Option<Record>, PaneError> {
        let spawn_id = spawn_of(&BackendType::Headless, &pane.id);
        let spawn_id = spawn_id.ok_or_else(|| PaneError::Invalid {
            what: "pane id",
            given: pane.id.to_string(),
            why: "expected `headless:` followed by a spawn id",
        })?;
        record::read(&self.directory, spawn_id)
    }

    fn existing(&self, pane: &Pane) -> Result<Record, PaneError> {
        self.record(pane)?.ok_or_else(|| PaneError::Gone {
            pane: pane.id.clone(),
        })
    }

    fn end_of(&self, spawn_id: SpawnId) -> Option<watch::Receiver<Option<End>>> {
        let ends = self.ends.lock();
        ends.get(&spawn_id).cloned()
    }

    /// Waits for a child, so that no zombie remains, and records its exit status.
    fn reap(&self, mut child: Child, spawn_id: SpawnId) {
        let (exit_sender, exit_receiver) = watch::channel(None);
        self.ends.lock().insert(spawn_id, exit_receiver);
        let directory = self.directory.clone();
        tokio::spawn(async move {
            let end = match child.wait().await {
                Ok(status) => end(status),
                Err(error) => {
                    tracing::warn!(spawn = %spawn_id, %error, "cannot wait for the process");
                    return;
                }
            };
            if let Err(error) = record::end(&directory, spawn_id, &end) {
                tracing::debug!(spawn = %spawn_id, %error, "exit status not recorded");
            }
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
        swarm_os::ensure_private_dir(&self.directory)?;
        let record = Record::empty(spec);
        record::write(&self.directory, &record)?;
        Ok(Pane {
            id: record::pane_id(&BackendType::Headless, spec.spawn_id),
            socket: None,
            position: None,
        })
    }

    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError> {
        command.check()?;
        let mut record = self.existing(pane)?;
        let output = match &command.log {
            Some(file) => file.clone(),
            None => default_log(&self.directory, record.spawn_id),
        };
        let (child, before) = spawn(command, &output)?;
        let pid = child.id();
        record.log = Some(output);
        record.log_start = before;
        record.end = None;
        // The start time of a child that has already exited cannot be read; its exit status is
        // recorded by the reaper.
        record.process = pid.and_then(Process::running);
        let written = record::write(&self.directory, &record);
        self.reap(child, record.spawn_id);
        written?;
        tracing::debug!(member = %record.member, spawn = %record.spawn_id, ?pid, "program started");
        Ok(Started { pid })
    }

    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let Some(record) = self.record(pane)? else {
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
                Ok(wait_for_exit(exit_receiver).await.unwrap_or(status))
            }
            _ => Ok(status),
        }
    }

    async fn capture(
        &self,
        pane: &Pane,
        lines: Option<usize>,
        escapes: bool,
    ) -> Result<String, PaneError> {
        self.existing(pane)?.output(lines, escapes)
    }

    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        let Some(record) = self.record(pane)? else {
            return Ok(());
        };
        record.check_owner(pane, owner)?;
        let spawn_id = record.spawn_id;
        if let Some(process) = record.process {
            terminate_group(&pane.id, process).await?;
        }
        if let Some(exit_receiver) = self.end_of(spawn_id) {
            // The reaper writes the record; it must not be written again after it is removed here.
            wait_for_exit(exit_receiver).await;
        }
        self.ends.lock().remove(&spawn_id);
        record::remove(&self.directory, spawn_id)
    }

    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let Some(record) = self.record(pane)? else {
            return Ok(PaneStatus::Gone);
        };
        if let Some(exit_receiver) = self.end_of(record.spawn_id) {
            if let Some(status) = wait_for_exit(exit_receiver).await {
                return Ok(status);
            }
        } else if let (Some(process), None) = (record.process, &record.end) {
            let ended = process.ended().await;
            ended
                .map_err(|e| PaneError::io("watch the process in", pane.id.as_str().as_ref(), e))?;
        }
        self.status(pane).await
    }

    /// There is no pane to attach to, only a file to follow.
    async fn attach_command(&self, pane: &Pane) -> Vec<OsString> {
        let record = self.record(pane).ok().flatten();
        record.map_or_else(Vec::new, |record| record.follow_command())
    }

    async fn all_panes(&self) -> Result<Vec<TaggedPane>, PaneError> {
        record::tagged(&self.directory, &BackendType::Headless)
    }

    async fn view(&self, _team: &TeamName) -> Result<Vec<WindowView>, PaneError> {
        Ok(Vec::new())
    }
}

async fn wait_for_exit(mut exit_receiver: watch::Receiver<Option<End>>) -> Option<PaneStatus> {
    let end = exit_receiver.wait_for(Option::is_some).await.ok()?;
    end.as_ref().map(End::status)
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

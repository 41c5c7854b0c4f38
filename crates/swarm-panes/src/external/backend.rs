//! Panes of an externally controlled terminal as a [`PaneBackend`].

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use swarm_os::InheritableLock;
use swarm_os::process::{self, KnownProcesses, Process, Target};
use swarm_protocol::{BackendType, PaneId, SpawnId, TeamName};

use super::driver::{NewPane, PaneDriver};
use super::runner::Runner;
use crate::record::{Record, Records, SCREEN_LINES};
use crate::{
    Pane, PaneBackend, PaneCommand, PaneError, PaneSpec, PaneStatus, PaneText, Started, TaggedPane,
    log, text,
};

/// Time that a process has to exit after SIGTERM when its pane is closed.
const GRACE: Duration = Duration::from_secs(2);

/// Time to wait for panes that others open.
const QUEUE: Duration = Duration::from_mins(2);

/// Members in panes that a [`PaneDriver`] opens. A pane is opened when its program is started: a
/// record and a script in a directory let any process find the program and its exit status, which
/// the terminal does not report.
#[derive(Debug)]
pub struct ExternalBackend {
    records: Records,
    driver: Arc<dyn PaneDriver>,
}

impl ExternalBackend {
    /// Creates a backend with its records in a subdirectory of `directory`, which is created with
    /// mode 0700 on demand.
    pub fn new(directory: &std::path::Path, driver: Arc<dyn PaneDriver>) -> Self {
        Self {
            records: Records {
                directory: directory.join(driver.backend().name()),
                backend: driver.backend(),
            },
            driver,
        }
    }

    /// Returns the record of a pane, by the id of its spawn or by the one that the terminal gave.
    fn record(&self, pane: &Pane) -> Result<Option<Record>, PaneError> {
        if let Some(spawn_id) = self.records.spawn_of(&pane.id) {
            return self.records.read(spawn_id);
        }
        let unique = self.driver.has_unique_ids();
        let records = self.records.all()?;
        let opened = |record: &Record| unique && record.opened.as_ref() == Some(&pane.id);
        Ok(records.into_iter().find(opened))
    }

    fn existing(&self, pane: &Pane) -> Result<Record, PaneError> {
        self.record(pane)?
            .ok_or_else(|| PaneError::Gone(pane.id.clone()))
    }

    fn runner(&self, record: &Record) -> Runner {
        Runner::of(&self.records.directory, record.spawn_id)
    }

    fn status_of(&self, mut record: Record) -> Result<PaneStatus, PaneError> {
        record.end = self.runner(&record).progress()?.end();
        Ok(record.status())
    }

    /// Returns the id for the roster.
    fn id_of(&self, record: &Record) -> PaneId {
        match &record.opened {
            Some(opened) if self.driver.has_unique_ids() => opened.clone(),
            _ => self.records.pane_id(record.spawn_id),
        }
    }

    fn pane_of(&self, record: &Record) -> Pane {
        Pane::new(self.id_of(record), None)
    }

    /// Whether the pane was closed: terminals close one when its shell exits, and some use its id again.
    fn was_closed(record: &Record) -> bool {
        let shell = record.shells.first();
        shell.is_some_and(|shell| !shell.is_running())
    }

    /// Returns the id that the terminal gave to a pane, if that cannot be the id of a later one.
    fn opened<'r>(&self, record: &'r Record) -> Option<&'r PaneId> {
        let opened = record.opened.as_ref();
        opened.filter(|_| self.driver.has_unique_ids() || !Self::was_closed(record))
    }

    /// Returns the most recently started pane of a team whose shells still run.
    fn newest(&self, team: &TeamName) -> Result<Option<PaneId>, PaneError> {
        let records = self.records.all()?.into_iter();
        let newest = records
            .filter(|record| record.team == *team)
            .filter_map(|record| {
                let shell = record.shells.first()?;
                let age = shell.is_running().then(|| shell.age())??;
                Some((age, record.opened?))
            })
            .min_by_key(|(age, _)| *age);
        Ok(newest.map(|(_, opened)| opened))
    }

    /// Takes the lock that is held while a pane is opened, since its place depends on the newest one.
    /// Without the lock, the pane may only get another place.
    async fn lock_opening(&self) -> Option<InheritableLock> {
        let path = self.records.directory.join("opening.lock");
        let waiting = path.clone();
        let taken =
            tokio::task::spawn_blocking(move || InheritableLock::take(&waiting, QUEUE)).await;
        taken
            .map_err(|error| PaneError::io("lock", &path, error))
            .and_then(|taken| taken.map_err(PaneError::from))
            .inspect_err(|error| tracing::warn!(%error, "pane opened without the lock"))
            .ok()
    }

    /// Opens the pane of a record and waits for its program.
    async fn open_and_run(
        &self,
        record: &mut Record,
        spec: &PaneSpec,
        command: &PaneCommand,
    ) -> Result<Started, PaneError> {
        command.check()?;
        command.log.as_deref().map(log::open).transpose()?;
        let runner = self.runner(record);
        runner.write(command)?;
        let lock = self.lock_opening().await;
        let started = self.open_next(record, spec, &runner).await;
        if let Some(lock) = lock {
            lock.retire();
        }
        started
    }

    async fn open_next(
        &self,
        record: &mut Record,
        spec: &PaneSpec,
        runner: &Runner,
    ) -> Result<Started, PaneError> {
        let newest = self.newest(&record.team)?;
        let opened = self
            .driver
            .open(NewPane {
                spec,
                newest: newest.as_ref(),
                command: ["/bin/sh".into(), runner.script.clone().into_os_string()],
            })
            .await;
        record.opened = opened.as_ref().ok().cloned();
        self.records.write(record)?;
        // A terminal may have run the command although it could not show it.
        let progress = match &opened {
            Ok(_) => runner.started().await?,
            Err(_) => runner.progress()?,
        };
        let running = |pid: &u32| Process::running(*pid);
        record.shells = progress.shells.iter().filter_map(running).collect();
        record.process = progress.program.as_ref().and_then(running);
        self.records.write(record)?;
        let opened = opened?;
        if progress.program.is_none() {
            return Err(PaneError::NotStarted(opened));
        }
        tracing::debug!(member = %record.member, spawn = %record.spawn_id, pane = %opened, "program started");
        Ok(Started {
            pid: progress.program,
        })
    }

    /// Terminates the program and its shells, closes the pane, and removes the files.
    async fn remove(&self, pane: &PaneId, record: &Record) -> Result<(), PaneError> {
        let opened = self.opened(record);
        let processes: Vec<Process> = record
            .process
            .iter()
            .chain(&record.shells)
            .copied()
            .collect();
        let target = Target {
            processes: KnownProcesses::found_by(move || processes.clone()),
            ..Target::default()
        };
        let ended = process::end(target, GRACE).await;
        if let (1.., Some(process)) = (ended.left, record.process) {
            return Err(PaneError::SurvivedKill {
                pane: pane.clone(),
                pid: process.id(),
            });
        }
        if let Some(opened) = opened
            && let Err(error) = self.driver.close(opened).await
        {
            // Most terminals close a pane together with its last process.
            tracing::debug!(pane = %opened, %error, "pane not closed, or already closed");
        }
        self.runner(record).remove()?;
        self.records.remove(record.spawn_id)
    }
}

#[async_trait]
impl PaneBackend for ExternalBackend {
    fn kind(&self) -> BackendType {
        self.driver.backend()
    }

    async fn open(&self, spec: &PaneSpec) -> Result<Pane, PaneError> {
        let record = self.records.create(spec)?;
        Ok(self.pane_of(&record))
    }

    async fn start(&self, pane: &Pane, command: &PaneCommand) -> Result<Started, PaneError> {
        let mut record = self.existing(pane)?;
        let spec = record.spec();
        self.open_and_run(&mut record, &spec, command).await
    }

    async fn launch(&self, spec: &PaneSpec, command: &PaneCommand) -> Result<Pane, PaneError> {
        let mut record = self.records.create(spec)?;
        match self.open_and_run(&mut record, spec, command).await {
            Ok(_started) => Ok(self.pane_of(&record)),
            Err(error) => {
                let id = self.id_of(&record);
                if let Err(left) = self.remove(&id, &record).await {
                    tracing::warn!(pane = %id, error = %left, "pane not removed");
                }
                Err(error)
            }
        }
    }

    async fn status(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        match self.record(pane)? {
            Some(record) => self.status_of(record),
            None => Ok(PaneStatus::Gone),
        }
    }

    async fn capture(&self, pane: &Pane, part: PaneText) -> Result<String, PaneError> {
        let record = self.existing(pane)?;
        let gone = || PaneError::Gone(pane.id.clone());
        let captured = match self.opened(&record) {
            Some(opened) => self.driver.capture(opened, part.lines).await,
            None => Ok(String::new()),
        };
        // It may have been closed meanwhile, for which some terminals return an empty text.
        if record.opened.is_some() && self.opened(&record).is_none() {
            return Err(gone());
        }
        let captured = captured.map_err(|error| {
            if Self::was_closed(&record) {
                gone()
            } else {
                error
            }
        })?;
        let captured = if part.escapes {
            text::only_colours(&captured)
        } else {
            text::without_escapes(&captured)
        };
        let lines = part.lines.unwrap_or(SCREEN_LINES);
        Ok(text::last_lines(&captured, Some(lines)))
    }

    async fn close(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        let Some(record) = self.record(pane)? else {
            return Ok(());
        };
        record.check_owner(pane, owner)?;
        self.remove(&pane.id, &record).await
    }

    async fn exited(&self, pane: &Pane) -> Result<PaneStatus, PaneError> {
        let Some(record) = self.record(pane)? else {
            return Ok(PaneStatus::Gone);
        };
        // The shell that records the exit status may still run although the program has ended, even
        // before the program was seen running.
        let recorder = self.runner(&record).progress()?.recorder;
        let is_recorder = |shell: &&Process| Some(shell.id()) == recorder;
        let recorder = record.shells.iter().find(is_recorder);
        for process in record.process.iter().chain(recorder) {
            process
                .ended()
                .await
                .map_err(|e| PaneError::io("watch the process in", pane.id.as_str().as_ref(), e))?;
        }
        self.status(pane).await
    }

    async fn attach_command(&self, pane: &Pane) -> Vec<OsString> {
        let record = self.record(pane).ok().flatten();
        let opened = record.as_ref().and_then(|record| self.opened(record));
        opened.map_or_else(Vec::new, |opened| self.driver.focus_command(opened))
    }

    async fn all_panes(&self) -> Result<Vec<TaggedPane>, PaneError> {
        let records = self.records.all()?.into_iter();
        records
            .map(|record| {
                let id = self.id_of(&record);
                let status = self.status_of(record.clone())?;
                Ok(record.tagged(id, status))
            })
            .collect()
    }
}

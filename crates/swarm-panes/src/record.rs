//! Records on disk of members that no multiplexer lists, which let any process inspect and terminate
//! them.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swarm_protocol::{BackendType, MemberName, PaneId, SpawnId, TeamName};

use crate::{Pane, PaneCommand, PaneError, PaneSpec, PaneStatus, PaneText, TaggedPane, log, text};
use swarm_os::NameFilter;
use swarm_os::process::Process;
use tokio::sync::watch;

/// Number of lines of output without a requested number: about one screen.
pub(crate) const SCREEN_LINES: usize = 50;

/// `<directory>/<spawn id>.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) team: TeamName,
    pub(crate) member: MemberName,
    pub(crate) spawn_id: SpawnId,
    /// Config directory of the team; absent in records of earlier versions.
    #[serde(default)]
    pub(crate) root: Option<PathBuf>,
    pub(crate) title: String,
    /// Output file; `None` until the program is started.
    pub(crate) log: Option<PathBuf>,
    /// Number of bytes that earlier spawns of the member left in that file.
    #[serde(default)]
    pub(crate) log_start: u64,
    /// Pid and start time; `None` until the program is started.
    pub(crate) process: Option<Process>,
    /// Exit status, if the process that started it was still running to see it.
    pub(crate) end: Option<End>,
    /// Id that the terminal gave to the pane; `None` without a terminal, or before it was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) opened: Option<PaneId>,
    /// Shells that run the program in the pane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) shells: Vec<Process>,
}

/// Exit status of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl Record {
    fn empty(spec: &PaneSpec) -> Self {
        Self {
            team: spec.team.clone(),
            member: spec.member.clone(),
            spawn_id: spec.spawn_id,
            root: Some(spec.root.clone()),
            title: text::shown(&spec.title),
            log: None,
            log_start: 0,
            process: None,
            end: None,
            opened: None,
            shells: Vec::new(),
        }
    }

    /// Returns the pane of which this is the record, without its colour.
    pub(crate) fn spec(&self) -> PaneSpec {
        PaneSpec {
            team: self.team.clone(),
            member: self.member.clone(),
            spawn_id: self.spawn_id,
            root: self.root.clone().unwrap_or_default(),
            title: self.title.clone(),
            color: None,
        }
    }

    /// Returns the list entry of the pane.
    pub(crate) fn tagged(self, id: PaneId, status: PaneStatus) -> TaggedPane {
        TaggedPane {
            pane: Pane::new(id, None),
            status,
            team: self.team,
            member: self.member,
            spawn_id: self.spawn_id,
            root: self.root,
            title: self.title,
        }
    }

    /// Returns the error for a request by another spawn than the owner.
    pub(crate) fn check_owner(&self, pane: &Pane, owner: &SpawnId) -> Result<(), PaneError> {
        if self.spawn_id == *owner {
            return Ok(());
        }
        Err(PaneError::Foreign {
            pane: pane.id.clone(),
            expected: owner.to_string(),
            found: format!("it is {}'s, spawn {}", self.member, self.spawn_id),
        })
    }

    /// Returns the last lines of its output file.
    pub(crate) fn output(&self, part: PaneText) -> Result<String, PaneError> {
        let Some(file) = &self.log else {
            return Ok(String::new());
        };
        let tail = log::read_tail(file, self.log_start)?;
        let tail = if part.escapes {
            tail
        } else {
            text::without_escapes(&tail)
        };
        Ok(text::last_lines(
            &tail,
            Some(part.lines.unwrap_or(SCREEN_LINES)),
        ))
    }

    /// Returns the command that follows its output file.
    pub(crate) fn follow_command(&self) -> Vec<OsString> {
        let Some(file) = &self.log else {
            return Vec::new();
        };
        let words = ["tail", "-n", "200", "-f", "--"].map(OsString::from);
        words.into_iter().chain([file.clone().into()]).collect()
    }

    /// Combines the record with the state in the kernel.
    pub(crate) fn status(&self) -> PaneStatus {
        match (&self.end, self.process) {
            (Some(end), _) => end.status(),
            (None, Some(process)) if process.is_running() => {
                PaneStatus::Running { pid: process.id() }
            }
            (None, None) if self.shells.is_empty() => PaneStatus::Empty,
            // Its exit status is not recorded yet; the program may have ended before it was seen.
            (None, _) => PaneStatus::Dead {
                code: None,
                signal: None,
            },
        }
    }
}

impl End {
    /// Returns the status of a program that has exited with this code.
    pub(crate) fn exited(code: u8) -> Self {
        Self {
            code: Some(code.into()),
            signal: None,
        }
    }

    pub(crate) fn status(&self) -> PaneStatus {
        PaneStatus::Dead {
            code: self.code,
            signal: self.signal.map(|signal| signal.to_string()),
        }
    }
}

/// Waits for the end of a program that this process reaps.
pub(crate) async fn reaped(mut end: watch::Receiver<Option<End>>) -> Option<PaneStatus> {
    let end = end.wait_for(Option::is_some).await.ok()?;
    end.as_ref().map(End::status)
}

/// The records of a backend, in a directory that is created with mode 0700 on demand.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    pub(crate) directory: PathBuf,
    pub(crate) backend: BackendType,
}

impl Records {
    /// Returns the pane id of a spawn: the name of the backend and the spawn id. A pid would be
    /// shorter, but is unknown until the program runs and may be reused.
    pub(crate) fn pane_id(&self, spawn_id: SpawnId) -> PaneId {
        PaneId::new(format!("{}:{spawn_id}", self.backend.name()))
    }

    /// Returns the spawn of a pane id that [`Self::pane_id`] created.
    pub(crate) fn spawn_of(&self, id: &PaneId) -> Option<SpawnId> {
        let spawn = id.as_str().strip_prefix(self.backend.name())?;
        spawn.strip_prefix(':')?.parse().ok()
    }

    fn path(&self, spawn_id: SpawnId) -> PathBuf {
        self.directory.join(file_name(spawn_id))
    }

    /// Returns whether there is a record, damaged or not.
    pub(crate) fn exists(&self, spawn_id: SpawnId) -> bool {
        self.path(spawn_id).exists()
    }

    /// Creates the record of a pane in which nothing runs.
    pub(crate) fn create(&self, spec: &PaneSpec) -> Result<Record, PaneError> {
        swarm_os::ensure_private_dir(&self.directory)?;
        let record = Record::empty(spec);
        self.write(&record)?;
        Ok(record)
    }

    /// Returns the record of a pane with an id of [`Self::pane_id`].
    pub(crate) fn of(&self, pane: &Pane) -> Result<Option<Record>, PaneError> {
        let spawn_id = self.spawn_of(&pane.id);
        let spawn_id = spawn_id.ok_or_else(|| PaneError::Invalid {
            what: "pane id",
            given: pane.id.to_string(),
            why: "expected the name of the backend, a colon and a spawn id",
        })?;
        self.read(spawn_id)
    }

    pub(crate) fn existing(&self, pane: &Pane) -> Result<Record, PaneError> {
        self.of(pane)?
            .ok_or_else(|| PaneError::Gone(pane.id.clone()))
    }

    /// Returns the output file of a command.
    pub(crate) fn output_of(&self, command: &PaneCommand, spawn_id: SpawnId) -> PathBuf {
        let given = command.log.clone();
        given.unwrap_or_else(|| self.default_log(spawn_id))
    }

    fn default_log(&self, spawn_id: SpawnId) -> PathBuf {
        self.directory.join(format!("{spawn_id}.log"))
    }

    /// Reads a record. A damaged record counts as missing: the member's other files contain the
    /// remaining state.
    pub(crate) fn read(&self, spawn_id: SpawnId) -> Result<Option<Record>, PaneError> {
        let read = || swarm_os::read_optional(&self.path(spawn_id));
        let parse = |bytes: Vec<u8>| serde_json::from_slice(&bytes);
        let Some(bytes) = read()? else {
            return Ok(None);
        };
        if let Ok(record) = parse(bytes) {
            return Ok(Some(record));
        }
        // Written in place: that may have been a partial write.
        let record = read()?.map(parse).transpose();
        Ok(record.unwrap_or_else(|error| {
            tracing::warn!(spawn = %spawn_id, %error, "damaged record of a member");
            None
        }))
    }

    /// Writes a record without waiting for the disk: its process does not survive a power failure.
    pub(crate) fn write(&self, record: &Record) -> Result<(), PaneError> {
        let path = self.path(record.spawn_id);
        let bytes =
            serde_json::to_vec(record).map_err(|error| PaneError::io("write", &path, error))?;
        Ok(swarm_os::replace_passing(&path, &bytes)?)
    }

    /// Records the end of a program, unless its pane was closed meanwhile.
    pub(crate) fn end(&self, spawn_id: SpawnId, end: &End) {
        let written = self.read(spawn_id).and_then(|record| {
            let end = Some(end.clone());
            record.map_or(Ok(()), |record| self.write(&Record { end, ..record }))
        });
        if let Err(error) = written {
            tracing::debug!(spawn = %spawn_id, %error, "end of a program not recorded");
        }
    }

    /// Waits for the end of a program: of one that this process reaps, for `end`.
    pub(crate) async fn ended(
        &self,
        pane: &Pane,
        end: impl FnOnce(SpawnId) -> Option<watch::Receiver<Option<End>>>,
    ) -> Result<Option<PaneStatus>, PaneError> {
        let Some(record) = self.of(pane)? else {
            return Ok(Some(PaneStatus::Gone));
        };
        match (end(record.spawn_id), record.process) {
            (Some(end), _) => return Ok(reaped(end).await),
            (None, Some(process)) if record.end.is_none() => {
                let ended = process.ended().await;
                ended.map_err(|e| {
                    PaneError::io("watch the process in", pane.id.as_str().as_ref(), e)
                })?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// Removes a record and the default output file next to it.
    pub(crate) fn remove(&self, spawn_id: SpawnId) -> Result<(), PaneError> {
        remove_files([self.path(spawn_id), self.default_log(spawn_id)].iter())
    }

    pub(crate) fn all(&self) -> Result<Vec<Record>, PaneError> {
        let list = |e| PaneError::io("list", &self.directory, e);
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(list(e)),
        };
        let mut records = Vec::new();
        for entry in entries {
            let name = entry.map_err(list)?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if let Some(spawn_id) = stem.and_then(|stem| stem.parse().ok()) {
                records.extend(self.read(spawn_id)?);
            }
        }
        Ok(records)
    }

    /// Returns the list entries of all records.
    pub(crate) fn tagged(&self) -> Result<Vec<TaggedPane>, PaneError> {
        let tagged = self.all()?.into_iter().map(|record| {
            let (id, status) = (self.pane_id(record.spawn_id), record.status());
            record.tagged(id, status)
        });
        Ok(tagged.collect())
    }
}

fn file_name(spawn_id: SpawnId) -> String {
    format!("{spawn_id}.json")
}

/// Selects the record of a spawn in its directory, to watch it.
pub(crate) fn name(spawn_id: SpawnId) -> NameFilter {
    NameFilter::Exact(vec![file_name(spawn_id).into()])
}

/// Removes those of the files that exist.
pub(crate) fn remove_files<'p>(
    mut files: impl Iterator<Item = &'p PathBuf>,
) -> Result<(), PaneError> {
    files.try_for_each(|file| {
        swarm_os::remove_if_present(file).map_err(|error| PaneError::io("remove", file, error))
    })
}

//! What is kept on disk of a member without a terminal, so that any process can look at it and end it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_protocol::{MemberName, PaneId, SpawnId, TeamName};

use crate::{PaneError, PaneStatus};
use swarm_os::process::Process;

/// What the ids of this backend begin with; the spawn id follows. The pid would be shorter, but is not known before
/// the program runs and may come to mean another process.
const ID_PREFIX: &str = "headless:";

/// `<directory>/<spawn id>.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) team: TeamName,
    pub(super) member: MemberName,
    pub(super) spawn_id: SpawnId,
    /// Absent in records of earlier versions.
    #[serde(default)]
    pub(super) root: Option<PathBuf>,
    pub(super) title: String,
    /// Where its output goes; none until it was started.
    pub(super) log: Option<PathBuf>,
    /// Bytes that earlier spawns of the member left in that file.
    #[serde(default)]
    pub(super) log_start: u64,
    /// Pid and start time; none until it was started.
    pub(super) process: Option<Process>,
    /// How it ended, where the process that started it lived to see that.
    pub(super) end: Option<End>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

impl Record {
    /// What the record and the kernel say together.
    pub(super) fn status(&self) -> PaneStatus {
        match (&self.end, self.process) {
            (Some(end), _) => end.status(),
            (None, None) => PaneStatus::Empty,
            (None, Some(process)) if process.is_running() => {
                PaneStatus::Running { pid: process.id() }
            }
            (None, Some(_)) => PaneStatus::Dead {
                code: None,
                signal: None,
            },
        }
    }
}

impl End {
    pub(super) fn status(&self) -> PaneStatus {
        PaneStatus::Dead {
            code: self.code,
            signal: self.signal.map(|signal| signal.to_string()),
        }
    }
}

/// The pane id of a spawn.
pub(super) fn pane_id(spawn_id: SpawnId) -> PaneId {
    PaneId::new(format!("{ID_PREFIX}{spawn_id}"))
}

/// The spawn that a pane id names.
pub(super) fn spawn_of(id: &PaneId) -> Result<SpawnId, PaneError> {
    let spawn = id.as_str().strip_prefix(ID_PREFIX);
    spawn
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| PaneError::Invalid {
            what: "pane id",
            given: id.to_string(),
            why: "a member without a terminal is addressed by `headless:` and its spawn id",
        })
}

fn path(directory: &Path, spawn_id: SpawnId) -> PathBuf {
    directory.join(format!("{spawn_id}.json"))
}

/// The file for output where none was named.
pub(super) fn default_log(directory: &Path, spawn_id: SpawnId) -> PathBuf {
    directory.join(format!("{spawn_id}.log"))
}

/// Reads a record. One that is damaged is as good as none: the member's own files tell the rest.
pub(super) fn read(directory: &Path, spawn_id: SpawnId) -> Result<Option<Record>, PaneError> {
    let Some(bytes) = swarm_os::read_optional(&path(directory, spawn_id))? else {
        return Ok(None);
    };
    match serde_json::from_slice(&bytes) {
        Ok(record) => Ok(Some(record)),
        Err(error) => {
            tracing::warn!(spawn = %spawn_id, %error, "record of a headless member is damaged");
            Ok(None)
        }
    }
}

/// Writes a record.
pub(super) fn write(directory: &Path, record: &Record) -> Result<(), PaneError> {
    let bytes = serde_json::to_vec(record).map_err(|error| PaneError::Io {
        op: "write",
        path: path(directory, record.spawn_id),
        source: error.into(),
    })?;
    swarm_os::replace_alone(&path(directory, record.spawn_id), &bytes)?;
    Ok(())
}

/// Removes a record, and the output file that was made beside it.
pub(super) fn remove(directory: &Path, spawn_id: SpawnId) -> Result<(), PaneError> {
    for file in [path(directory, spawn_id), default_log(directory, spawn_id)] {
        match std::fs::remove_file(&file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(PaneError::io("remove", &file, e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Every record of a directory.
pub(super) fn all(directory: &Path) -> Result<Vec<Record>, PaneError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(PaneError::io("list", directory, e)),
    };
    let mut records = Vec::new();
    for entry in entries {
        let name = entry
            .map_err(|e| PaneError::io("list", directory, e))?
            .file_name();
        let spawn_id = name
            .to_str()
            .and_then(|name| name.strip_suffix(".json"))
            .and_then(|stem| stem.parse().ok());
        if let Some(spawn_id) = spawn_id {
            records.extend(read(directory, spawn_id)?);
        }
    }
    Ok(records)
}

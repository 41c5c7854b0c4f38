//! Records of headless members on disk, which let any process inspect and terminate them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_protocol::{MemberName, PaneId, SpawnId, TeamName};

use crate::{PaneError, PaneStatus};
use swarm_os::process::Process;

/// Prefix of pane ids of this backend; the spawn id follows. A pid would be shorter, but is unknown
/// until the program runs and may be reused.
const ID_PREFIX: &str = "headless:";

/// `<directory>/<spawn id>.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) team: TeamName,
    pub(super) member: MemberName,
    pub(super) spawn_id: SpawnId,
    /// Config directory of the team; absent in records of earlier versions.
    #[serde(default)]
    pub(super) root: Option<PathBuf>,
    pub(super) title: String,
    /// Output file; `None` until the program is started.
    pub(super) log: Option<PathBuf>,
    /// Number of bytes that earlier spawns of the member left in that file.
    #[serde(default)]
    pub(super) log_start: u64,
    /// Pid and start time; `None` until the program is started.
    pub(super) process: Option<Process>,
    /// Exit status, if the process that started it was still running to see it.
    pub(super) end: Option<End>,
}

/// Exit status of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

impl Record {
    /// Combines the record with the state in the kernel.
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

/// Returns the pane id of a spawn.
pub(super) fn pane_id(spawn_id: SpawnId) -> PaneId {
    PaneId::new(format!("{ID_PREFIX}{spawn_id}"))
}

/// Returns the spawn of a pane id.
pub(super) fn spawn_of(id: &PaneId) -> Result<SpawnId, PaneError> {
    let spawn = id.as_str().strip_prefix(ID_PREFIX);
    spawn
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| PaneError::Invalid {
            what: "pane id",
            given: id.to_string(),
            why: "expected `headless:` followed by a spawn id",
        })
}

fn path(directory: &Path, spawn_id: SpawnId) -> PathBuf {
    directory.join(format!("{spawn_id}.json"))
}

/// Returns the default output file.
pub(super) fn default_log(directory: &Path, spawn_id: SpawnId) -> PathBuf {
    directory.join(format!("{spawn_id}.log"))
}

/// Reads a record. A damaged record counts as missing: the member's other files contain the
/// remaining state.
pub(super) fn read(directory: &Path, spawn_id: SpawnId) -> Result<Option<Record>, PaneError> {
    let Some(bytes) = swarm_os::read_optional(&path(directory, spawn_id))? else {
        return Ok(None);
    };
    match serde_json::from_slice(&bytes) {
        Ok(record) => Ok(Some(record)),
        Err(error) => {
            tracing::warn!(spawn = %spawn_id, %error, "damaged record of a headless member");
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

/// Removes a record and the default output file next to it.
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

/// Returns every record of a directory.
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

//! The spawn order: the parameters of a child, in a file of mode 0600 that the child reads and
//! unlinks before hello. It contains provider keys, so it is never passed as an argument or
//! environment variable.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::OsError;
use swarm_protocol::{SpawnId, UnixMs};

use crate::MemberSpec;

/// The order is unusable.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// It is not a regular private file, or cannot be read.
    #[error("spawn order not taken: {0}")]
    File(#[from] OsError),
    /// It does not exist, or cannot be unlinked.
    #[error("spawn order {path}: {source}")]
    Io {
        /// Path of the order.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// It is not a valid order.
    #[error("spawn order {path}: {source}")]
    Json {
        /// Path of the order.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
}

/// The parameters of a child.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnOrder {
    /// The member.
    pub spec: MemberSpec,
    /// Its terminal.
    pub pane: PaneSettings,
    /// Version of the spawning program; a child of another version rejects the order.
    pub version: String,
    /// When the spawner times out.
    pub deadline: UnixMs,
}

/// How members use their terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaneSettings {
    /// Whether it has colours.
    pub color: bool,
    /// Whether it rings when the member needs a person.
    pub bell: bool,
}

impl SpawnOrder {
    /// Returns the file name of a spawn's order in the member's directory.
    pub fn file_name(spawn_id: SpawnId) -> String {
        format!("order-{spawn_id}.json")
    }

    /// Reads the order and unlinks it, so that the keys in it exist no longer than needed.
    ///
    /// # Errors
    /// [`OrderError`] naming the file.
    pub fn take(path: &Path) -> Result<Self, OrderError> {
        let io = |source| OrderError::Io {
            path: path.to_owned(),
            source,
        };
        let bytes = swarm_os::read_optional(path)?.ok_or_else(|| io(ErrorKind::NotFound.into()))?;
        std::fs::remove_file(path).map_err(io)?;
        serde_json::from_slice(&bytes).map_err(|source| OrderError::Json {
            path: path.to_owned(),
            source,
        })
    }

    /// Unlinks the order of an abandoned spawn, if its child has not done so.
    ///
    /// # Errors
    /// [`OrderError::Io`]; the keys in it are still there then.
    pub fn discard(member_directory: &Path, spawn_id: SpawnId) -> Result<(), OrderError> {
        let path = member_directory.join(Self::file_name(spawn_id));
        swarm_os::remove_if_present(&path).map_err(|source| OrderError::Io { path, source })
    }
}

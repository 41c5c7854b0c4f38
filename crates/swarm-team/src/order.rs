//! The spawn order: the parameters of a child, in a file of mode 0600 that the child reads and
//! unlinks before hello. It contains provider keys, so it is never passed as an argument or
//! environment variable.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use swarm_os::OsError;
use swarm_protocol::{PaneId, SpawnId, UnixMs};

use crate::MemberSpec;

/// The order is unusable.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// It is not a regular private file, or cannot be read.
    #[error(transparent)]
    File(#[from] OsError),
    /// It does not exist, or cannot be unlinked.
    #[error("spawn order {}: {error}", path.display())]
    Io {
        /// Path of the order.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// It is not a valid order.
    #[error("spawn order {}: {error}", path.display())]
    Json {
        /// Path of the order.
        path: PathBuf,
        /// The cause.
        error: serde_json::Error,
    },
    /// A program of another version wrote it.
    #[error("this is version {own}, but the lead runs {order}: install the same version of both")]
    Version {
        /// The version of this program.
        own: String,
        /// The version that wrote the order.
        order: String,
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
    /// The pane of a lead without a process in the user's tmux: the teammates follow the size of its
    /// window. A process of the lead does that itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_pane: Option<LeadPane>,
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

/// The pane from which a person started a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeadPane {
    /// Id of the pane.
    pub id: PaneId,
    /// Whether teammates stay in its window if there is no room (`tmux.place` is `split`).
    pub keeps_teammates: bool,
}

impl SpawnOrder {
    /// Returns the file name of a spawn's order in the member's directory.
    pub fn file_name(spawn_id: SpawnId) -> String {
        format!("order-{spawn_id}.json")
    }

    /// Reads the order for a program of the `own` version and unlinks it, so that the keys in it exist
    /// no longer than needed.
    ///
    /// # Errors
    /// [`OrderError::Version`], also if that version has another format; other [`OrderError`]s name the
    /// file.
    pub fn take(path: &Path, own: &str) -> Result<Self, OrderError> {
        #[derive(Deserialize)]
        struct Header {
            version: String,
        }
        let io = |error| OrderError::Io {
            path: path.to_owned(),
            error,
        };
        let json = |error| OrderError::Json {
            path: path.to_owned(),
            error,
        };
        let bytes = swarm_os::read_optional(path)?.ok_or_else(|| io(ErrorKind::NotFound.into()))?;
        std::fs::remove_file(path).map_err(io)?;
        let Header { version } = serde_json::from_slice(&bytes).map_err(json)?;
        if version != own {
            let own = own.to_owned();
            return Err(OrderError::Version {
                own,
                order: version,
            });
        }
        serde_json::from_slice(&bytes).map_err(json)
    }

    /// Unlinks the order of an abandoned spawn, if its child has not done so.
    ///
    /// # Errors
    /// [`OrderError::Io`]; the keys in it are still there then.
    pub fn discard(member_directory: &Path, spawn_id: SpawnId) -> Result<(), OrderError> {
        let path = member_directory.join(Self::file_name(spawn_id));
        swarm_os::remove_if_present(&path).map_err(|error| OrderError::Io { path, error })
    }
}

//! Which teams there are.

use std::fs;
use std::io::ErrorKind;

use swarm_fs::FsError;
use swarm_protocol::TeamName;

use crate::{FileStore, Result, StoreError};

impl FileStore {
    pub(crate) fn team_names(&self) -> Result<Vec<TeamName>> {
        let folder = self.layout.teams();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(StoreError::Fs(FsError::Io {
                    path: folder,
                    op: "list",
                    source,
                }));
            }
        };
        // Teams that are being made or deleted have a dot in their folder's name, which no team name has.
        let mut names: Vec<TeamName> = entries
            .flatten()
            .filter_map(|entry| TeamName::parse(entry.file_name().to_str()?).ok())
            .filter(|name| self.files(name).exists())
            .collect();
        names.sort();
        Ok(names)
    }
}

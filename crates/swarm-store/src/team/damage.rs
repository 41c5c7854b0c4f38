//! Teams that are there and cannot be used.

use std::io::ErrorKind;

use swarm_os::{Liveness, OsError};
use swarm_protocol::MemberName;

use crate::file_team::{FileTeam, is_surely_there};
use crate::{Result, StoreError};

/// What is wrong with a team whose roster, or one of whose directories, cannot be used.
#[derive(Debug)]
pub struct TeamDamage {
    /// The error of whoever tries.
    pub why: StoreError,
    /// Whether somebody may live in it: a life lock is held there, or it cannot be told.
    pub may_live: bool,
}

impl FileTeam {
    pub(crate) fn fault_of_directories(&self) -> Option<StoreError> {
        match self.refuse_links() {
            // Another program's, or deleted meanwhile.
            Ok(()) | Err(StoreError::Fs(OsError::Gone { .. })) => None,
            Err(error) => Some(error),
        }
    }

    /// The error of a team without its roster: a directory without what is ours in it is another program's, or nobody's.
    pub(crate) fn lack_of_roster(&self) -> Option<StoreError> {
        if self.exists() {
            return None;
        }
        match is_surely_there(&self.at.own()) {
            Ok(false) => None,
            Ok(true) => Some(StoreError::Damaged {
                path: self.at.config(),
                reason: "the roster is missing".to_owned(),
            }),
            // A file in the place of a team's directory.
            Err(StoreError::Fs(OsError::Io { source, .. }))
                if source.kind() == ErrorKind::NotADirectory =>
            {
                None
            }
            Err(error) => Some(error),
        }
    }

    /// Whether anybody holds a life lock, whatever the roster says.
    pub(crate) fn somebody_lives(&self) -> Result<bool> {
        match self.refuse_links() {
            // Without what is ours there is no lock of ours.
            Err(StoreError::Fs(OsError::Gone { .. })) => return Ok(false),
            checked => checked?,
        }
        for name in swarm_os::names_in(&self.at.members())?.unwrap_or_default() {
            let Some(Ok(name)) = name.to_str().map(MemberName::parse) else {
                continue;
            };
            if swarm_os::probe(&self.at.life(&name))? == Liveness::Alive {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

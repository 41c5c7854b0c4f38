//! Detection of damaged teams.

use std::io::ErrorKind;

use swarm_os::{Liveness, OsError};
use swarm_protocol::MemberName;

use crate::file::team::{FileTeam, is_surely_there};
use crate::{Result, StoreError};

impl FileTeam {
    pub(crate) fn fault_of_directories(&self) -> Option<StoreError> {
        match self.refuse_links() {
            // It belongs to another program, or was deleted meanwhile.
            Ok(()) | Err(StoreError::Fs(OsError::Gone(_))) => None,
            Err(error) => Some(error),
        }
    }

    /// Returns the error of a team without a roster: a directory without swarm's files is not a
    /// swarm team.
    pub(crate) fn lack_of_roster(&self) -> Option<StoreError> {
        if self.exists() {
            return None;
        }
        match is_surely_there(&self.at.own()) {
            Ok(false) => None,
            Ok(true) => Some(self.hub_damage().unwrap_or_else(|| StoreError::Damaged {
                path: self.at.config(),
                reason: "the roster is missing".to_owned(),
            })),
            // A file in place of a team's directory.
            Err(StoreError::Fs(OsError::Io { source, .. }))
                if source.kind() == ErrorKind::NotADirectory =>
            {
                None
            }
            Err(error) => Some(error),
        }
    }

    /// Returns whether any life lock is held, regardless of the roster.
    pub(crate) fn has_held_life_lock(&self) -> Result<bool> {
        match self.refuse_links() {
            // Without swarm's directory there are no life locks.
            Err(StoreError::Fs(OsError::Gone(_))) => return Ok(false),
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

//! The mark of a member that a person wants to take no turn.

use std::{fs, io};

use swarm_fs::FsError;
use swarm_protocol::{Member, MemberName, PauseMark};

use crate::member_files::write_alone;
use crate::team_files::TeamFiles;
use crate::{Result, StoreError, record};

impl TeamFiles<'_> {
    /// Under the roster's lock, so that the spawn that is meant is the present one.
    pub(crate) fn set_paused(
        &self,
        name: &MemberName,
        mark: Option<&PauseMark>,
    ) -> Result<Option<PauseMark>> {
        self.with_roster_lock(|_held| {
            let config = self.read_config()?;
            let member = self.member_of(&config, name)?;
            let before = self.pause_of(member).unwrap_or_else(|error| {
                tracing::warn!(team = %self.team, member = %name, %error, "pause mark not read");
                None
            });
            match mark {
                Some(mark) if member.spawn_id() != Some(mark.spawn_id) => {
                    return Err(StoreError::SpawnGone {
                        team: self.team.clone(),
                        spawn_id: mark.spawn_id,
                    });
                }
                Some(mark) if before.is_none() => write_alone(&self.at.paused(name), mark)?,
                Some(_) => {}
                None => self.remove_pause(name)?,
            }
            Ok(before)
        })
    }

    pub(crate) fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>> {
        let config = self.config()?;
        self.pause_of(self.member_of(&config, name)?)
    }

    pub(crate) fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>> {
        let mark: Option<PauseMark> = record::read(&self.at.paused(&member.name))?;
        let spawn = member.spawn_id();
        Ok(mark.filter(|mark| spawn.is_none_or(|spawn| spawn == mark.spawn_id)))
    }

    fn remove_pause(&self, name: &MemberName) -> Result<()> {
        let path = self.at.paused(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::Fs(FsError::Io {
                    path,
                    op: "remove",
                    source,
                }))
            }
            _ => Ok(()),
        }
    }
}

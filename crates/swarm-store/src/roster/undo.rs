//! The state before a reservation, so that it can be undone.

use std::fs;
use std::io::ErrorKind;

use serde::{Deserialize, Serialize};
use swarm_os::{LockGuard, OsError, PendingSync};
use swarm_protocol::{Event, Member, MemberName, MessageId, SpawnId, TeamConfig};

use super::file_roster::position_of;
use crate::file_team::FileTeam;
use crate::{Result, StoreError, record};

/// `members/<name>/reservation.json`, which exists as long as the reservation.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Undo {
    /// ID of the reserved spawn.
    pub(super) spawn_id: SpawnId,
    /// ID of the first message, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<MessageId>,
    /// Whether the inbox existed before.
    pub(super) had_inbox: bool,
    /// The dead member that is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<Member>,
}

impl FileTeam {
    /// Restores inbox and roster; the caller holds the roster's lock, writes it, and then calls
    /// [`Self::note_undone`]. Idempotent. `None` if the spawn has no reservation.
    pub(crate) fn undo_reservation(
        &self,
        config: &mut TeamConfig,
        spawn: SpawnId,
    ) -> Result<Option<MemberName>> {
        let Some(at) = position_of(config, spawn) else {
            return Ok(None);
        };
        let member = &config.members[at];
        let reserved = member
            .swarm
            .as_ref()
            .is_some_and(|mark| mark.reservation.is_some());
        if !reserved {
            return Ok(None);
        }
        let name = member.name.clone();
        let undo: Option<Undo> =
            record::read(&self.at.undo(&name))?.filter(|undo: &Undo| undo.spawn_id == spawn);
        let Some(undo) = undo else {
            config.members.remove(at);
            return Ok(Some(name));
        };
        self.with_inbox_lock(&name, |held| {
            self.remove_message(held, &name, undo.prompt.as_ref(), !undo.had_inbox)
        })?;
        match undo.previous {
            Some(previous) => config.members[at] = previous,
            None => drop(config.members.remove(at)),
        }
        Ok(Some(name))
    }

    /// Records an undone reservation in the journal and removes its undo file.
    pub(crate) fn note_undone(
        &self,
        member: &MemberName,
        spawn_id: SpawnId,
        reason: &str,
    ) -> Result<()> {
        self.forget_undo(member)?;
        self.record_done([Event::SpawnAborted {
            member: member.clone(),
            spawn_id,
            reason: reason.to_owned(),
        }]);
        Ok(())
    }

    /// Requires the roster's lock. Called last, because a reservation cannot be undone without the
    /// file.
    pub(super) fn forget_undo(&self, member: &MemberName) -> Result<()> {
        let path = self.at.undo(member);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(StoreError::Fs(OsError::Io {
                    path,
                    op: "remove",
                    source,
                }))
            }
            _ => Ok(()),
        }
    }

    /// Requires the roster's lock.
    pub(super) fn remember_undo(
        &self,
        _held: &LockGuard,
        member: &MemberName,
        undo: &Undo,
    ) -> Result<PendingSync> {
        let path = self.at.undo(member);
        Ok(swarm_os::place_alone(&path, &record::pretty(&path, undo)?)?)
    }
}

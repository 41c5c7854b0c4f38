//! `members/<name>/reservation.json`, which exists as long as the reservation.

use swarm_os::{LockGuard, OsError, PendingSync, remove_if_present};
use swarm_protocol::{Event, MemberName, SpawnId, TeamConfig};

use crate::file::record;
use crate::file::team::FileTeam;
use crate::roster::{Undo, reserved, restore};
use crate::{Result, StoreError};

impl FileTeam {
    /// Restores inbox and roster; the caller holds the roster's lock, writes it, and then calls
    /// [`Self::note_undone`]. Idempotent. `None` if the spawn has no reservation.
    pub(crate) fn undo_reservation(
        &self,
        config: &mut TeamConfig,
        spawn: SpawnId,
    ) -> Result<Option<MemberName>> {
        let Some((at, name)) = reserved(config, spawn) else {
            return Ok(None);
        };
        let undo: Option<Undo> =
            record::read(&self.at.undo(&name))?.filter(|undo: &Undo| undo.spawn_id == spawn);
        let Some(undo) = undo else {
            config.members.remove(at);
            return Ok(Some(name));
        };
        self.with_inbox_lock(&name, |held| {
            self.remove_message(held, &name, undo.prompt.as_ref(), !undo.had_inbox)
        })?;
        restore(config, at, undo.previous);
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
        remove_if_present(&path)
            .map_err(|source| StoreError::Fs(OsError::io(&path, "remove", source)))
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

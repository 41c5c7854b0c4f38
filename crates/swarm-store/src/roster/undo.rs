//! What a reservation found before it, so that it can be undone as if it had never been.

use std::fs;
use std::io::ErrorKind;

use serde::{Deserialize, Serialize};
use swarm_os::{LockGuard, OsError, PendingSync};
use swarm_protocol::{Event, Member, MemberName, MessageId, SpawnId, TeamConfig};

use super::file_roster::position_of;
use crate::file_team::FileTeam;
use crate::{Result, StoreError, record};

/// `members/<name>/reservation.json`, there from the reservation to its end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Undo {
    /// The spawn that the place is held for.
    pub(super) spawn_id: SpawnId,
    /// The first message, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<MessageId>,
    /// Whether the inbox was there before.
    pub(super) had_inbox: bool,
    /// The dead member whose name is taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<Member>,
}

impl FileTeam {
    /// Puts inbox and roster back; the caller holds the roster, writes it, and then calls [`Self::note_undone`].
    /// Done twice, because the first time was cut short, it does no harm. `None` when the spawn has no reservation.
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
            self.withdraw(held, &name, undo.prompt.as_ref(), !undo.had_inbox)
        })?;
        match undo.previous {
            Some(previous) => config.members[at] = previous,
            None => drop(config.members.remove(at)),
        }
        Ok(Some(name))
    }

    /// Enters an undone reservation in the journal and forgets how to undo it.
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

    /// Called under the roster's lock; without the file a reservation could not be undone, so it goes last.
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

    /// Only for the holder of the roster's lock.
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

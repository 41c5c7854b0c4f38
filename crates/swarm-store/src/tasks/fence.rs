//! Rejects actors that are no longer members.

use swarm_protocol::{Member, SpawnId};

use super::Actor;
use crate::file_team::FileTeam;
use crate::{Result, StoreError};

impl FileTeam {
    /// Rejects an actor whose spawn was removed, replaced or declared dead: a late process could
    /// otherwise complete or claim released tasks. Requires the list's lock, under which members
    /// are removed from the roster.
    pub(super) fn require_current(&self, actor: &Actor) -> Result<()> {
        let Some(spawn_id) = actor.spawn_id.filter(|_| !actor.person) else {
            return Ok(());
        };
        let config = self.read_config()?;
        let is_current = config.member(actor.name()).is_some_and(|member| {
            let lead = member.name.is_lead() && member.swarm.is_none();
            lead || lives_as(member, spawn_id)
        });
        if is_current {
            Ok(())
        } else {
            Err(StoreError::SpawnGone {
                team: self.team.clone(),
                spawn_id,
            })
        }
    }
}

fn lives_as(member: &Member, spawn_id: SpawnId) -> bool {
    member
        .swarm
        .as_ref()
        .is_some_and(|mark| mark.spawn_id == spawn_id && mark.died_at.is_none())
}

//! Rejects actors that are no longer members. No I/O.

use swarm_protocol::{Member, SpawnId, TeamConfig, TeamName};

use super::Actor;
use crate::{Result, StoreError};

/// Rejects an actor whose spawn was removed, replaced or declared dead: a late process could
/// otherwise complete or claim released tasks. A store reads the roster such that a removal that
/// is concurrent with the change fails the change.
pub(crate) fn require_current(team: &TeamName, actor: &Actor, roster: &TeamConfig) -> Result<()> {
    let Some(spawn_id) = actor.spawn_id.filter(|_| !actor.person) else {
        return Ok(());
    };
    let is_current = roster.member(actor.name()).is_some_and(|member| {
        let lead = member.name.is_lead() && member.swarm.is_none();
        lead || lives_as(member, spawn_id)
    });
    if is_current {
        Ok(())
    } else {
        Err(StoreError::SpawnGone {
            team: team.clone(),
            spawn_id,
        })
    }
}

fn lives_as(member: &Member, spawn_id: SpawnId) -> bool {
    member
        .swarm
        .as_ref()
        .is_some_and(|mark| mark.spawn_id == spawn_id && mark.died_at.is_none())
}

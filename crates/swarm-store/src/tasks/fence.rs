//! The actor of a change, with what a change needs besides the list. No I/O.

use swarm_protocol::{Member, SpawnId, TeamConfig, TeamName, UnixMs};

use super::Actor;
use crate::{Result, StoreError};

/// An actor that is a member now, and the roster.
#[derive(Debug)]
pub(crate) struct CurrentActor<'a> {
    pub(crate) team: &'a TeamName,
    pub(crate) config: TeamConfig,
    pub(crate) by: &'a Actor,
    pub(crate) now: UnixMs,
}

impl<'a> CurrentActor<'a> {
    /// Rejects an actor whose spawn was removed, replaced or declared dead: a late process could
    /// otherwise complete or claim released tasks. A store reads the roster such that a removal that
    /// is concurrent with the change fails the change.
    pub(crate) fn new(
        team: &'a TeamName,
        config: TeamConfig,
        by: &'a Actor,
        now: UnixMs,
    ) -> Result<Self> {
        let member = config.member(by.name());
        match by.spawn_id.filter(|_| !by.person) {
            Some(spawn_id) if !member.is_some_and(|member| lives_as(member, spawn_id)) => {
                let team = team.clone();
                Err(StoreError::SpawnGone { team, spawn_id })
            }
            _ => Ok(Self {
                team,
                config,
                by,
                now,
            }),
        }
    }
}

fn lives_as(member: &Member, spawn_id: SpawnId) -> bool {
    match &member.swarm {
        Some(mark) => mark.spawn_id == spawn_id && mark.died_at.is_none(),
        None => member.name.is_lead(),
    }
}

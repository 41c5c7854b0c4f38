//! The state before a reservation, so that it can be undone. No I/O.

use serde::{Deserialize, Serialize};
use swarm_protocol::{Member, MemberName, MessageId, SpawnId, TeamConfig};

/// What a reservation has replaced; kept as long as the reservation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Undo {
    /// ID of the reserved spawn.
    pub(crate) spawn_id: SpawnId,
    /// ID of the first message, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<MessageId>,
    /// Whether the inbox existed before.
    pub(crate) had_inbox: bool,
    /// The dead member that is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<Member>,
}

/// Returns the index of a spawn in the roster.
pub(crate) fn position_of(config: &TeamConfig, spawn: SpawnId) -> Option<usize> {
    config
        .members
        .iter()
        .position(|member| member.spawn_id() == Some(spawn))
}

/// Returns whether a spawn is in the roster and not recorded as dead.
pub(crate) fn has_living(config: &TeamConfig, spawn: SpawnId) -> bool {
    let mark = position_of(config, spawn).and_then(|at| config.members[at].swarm.as_ref());
    mark.is_some_and(|mark| mark.died_at.is_none())
}

/// Returns the index and the name of a spawn that is reserved and not committed.
pub(crate) fn reserved(config: &TeamConfig, spawn: SpawnId) -> Option<(usize, MemberName)> {
    let at = position_of(config, spawn)?;
    let member = &config.members[at];
    let mark = member.swarm.as_ref()?;
    mark.reservation.as_ref()?;
    Some((at, member.name.clone()))
}

/// Puts the entry back that a reservation has replaced, or removes it.
pub(crate) fn restore(config: &mut TeamConfig, at: usize, previous: Option<Member>) {
    match previous {
        Some(previous) => config.members[at] = previous,
        None => drop(config.members.remove(at)),
    }
}

//! Who leads a team, if anybody does.

use swarm_fs::Liveness;
use swarm_protocol::{LifeRecord, MemberName, TeamConfig, TeamName};
use swarm_store::{StoreError, TeamStore};

/// Who leads a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadStanding {
    /// A process does.
    Led {
        /// Its pid, where the files tell it.
        pid: Option<u32>,
    },
    /// The process that led has ended without giving the lead up; its members park.
    Lost {
        /// Its pid.
        pid: u32,
    },
    /// A lead is named that runs on another machine or in another pid namespace: whether it lives is not known.
    Unknown {
        /// Its pid there.
        pid: u32,
    },
    /// A person drives the team from the shell.
    ByHand,
}

/// Looks at the lead's life lock, and where it has none at the process that the roster names.
///
/// # Errors
/// Whatever the store says.
pub fn lead_standing(
    store: &dyn TeamStore,
    config: &TeamConfig,
) -> Result<LeadStanding, StoreError> {
    let team = &config.name;
    let liveness = store.liveness(team, &MemberName::lead())?;
    let named = config.lead_process.as_ref().map(|lead| lead.pid);
    Ok(match (liveness, named) {
        (Liveness::Alive, named) => LeadStanding::Led {
            pid: life_record(store, team, &MemberName::lead())
                .map(|life| life.pid)
                .or(named),
        },
        (Liveness::Dead, Some(pid)) => LeadStanding::Lost { pid },
        (Liveness::Foreign, Some(pid)) => LeadStanding::Unknown { pid },
        (_, None) => LeadStanding::ByHand,
    })
}

/// What a life file says, if there is one that can be read.
pub(crate) fn life_record(
    store: &dyn TeamStore,
    team: &TeamName,
    name: &MemberName,
) -> Option<LifeRecord> {
    let bytes = std::fs::read(store.life_path(team, name)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

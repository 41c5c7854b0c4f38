//! Who leads a team, if anybody does.

use swarm_os::Liveness;
use swarm_protocol::{LifeRecord, MemberName, TeamConfig};
use swarm_store::blocking::TeamStore;
use swarm_store::{StoreError, TeamView};

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
    /// Another program made the team. Whether that leads it or not, swarm only looks at it.
    Foreign {
        /// The process that leads, where one is known to.
        pid: Option<u32>,
    },
}

impl LeadStanding {
    /// Who leads a team that was looked at.
    pub fn of(seen: &TeamView) -> Self {
        let lead = seen.members.iter().find(|view| view.member.name.is_lead());
        let liveness = lead.map_or(Liveness::Foreign, |view| view.liveness);
        let process = lead.and_then(|view| view.process.as_ref());
        Self::judge(&seen.config, seen.is_foreign, liveness, || {
            process.map(pid_of)
        })
    }

    fn judge(
        config: &TeamConfig,
        is_foreign: bool,
        liveness: Liveness,
        living: impl FnOnce() -> Option<u32>,
    ) -> Self {
        let named = config.lead_process.as_ref().map(|lead| lead.pid);
        if is_foreign {
            let pid = named.filter(|_| liveness == Liveness::Alive);
            return Self::Foreign { pid };
        }
        match (liveness, named) {
            (Liveness::Alive, named) => Self::Led {
                pid: living().or(named),
            },
            (Liveness::Dead, Some(pid)) => Self::Lost { pid },
            (Liveness::Foreign, Some(pid)) => Self::Unknown { pid },
            (_, None) => Self::ByHand,
        }
    }
}

/// Looks at the lead's life lock, and where it has none at the process that the roster names.
///
/// # Errors
/// Whatever the store says.
pub fn lead_standing(
    store: &dyn TeamStore,
    config: &TeamConfig,
) -> Result<LeadStanding, StoreError> {
    let (team, lead) = (&config.name, MemberName::lead());
    let liveness = store.team(team).liveness(&lead)?;
    Ok(LeadStanding::judge(
        config,
        store.team(team).is_foreign(),
        liveness,
        || store.team(team).life_record(&lead).as_ref().map(pid_of),
    ))
}

fn pid_of(process: &LifeRecord) -> u32 {
    process.pid
}

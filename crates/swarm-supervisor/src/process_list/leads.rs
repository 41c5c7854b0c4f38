//! Detection of a team's lead.

use swarm_os::Liveness;
use swarm_protocol::{LifeRecord, MemberName, TeamConfig};
use swarm_store::{BlockOn as _, StoreError, TeamStore, TeamView};

/// Lead state of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadStanding {
    /// A running process leads the team; its pid, if recorded.
    Led(Option<u32>),
    /// The lead process with this pid exited without giving up the leadership; the members park.
    Lost(u32),
    /// The recorded lead runs on another machine or in another pid namespace, where it has this pid,
    /// so its state is unknown.
    Unknown(u32),
    /// A person leads the team from the shell.
    ByHand,
    /// Another program created the team; swarm only reads it. The pid of the lead, if known.
    Foreign(Option<u32>),
}

impl LeadStanding {
    /// Returns the lead state from the data of a team.
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
            return Self::Foreign(pid);
        }
        match (liveness, named) {
            (Liveness::Alive, named) => Self::Led(living().or(named)),
            (Liveness::Dead, Some(pid)) => Self::Lost(pid),
            (Liveness::Foreign, Some(pid)) => Self::Unknown(pid),
            (_, None) => Self::ByHand,
        }
    }
}

/// Reads the lead state from the lead's life lock, or else from the process named in the roster.
///
/// # Errors
/// Returns an error if the store fails.
pub fn lead_standing(
    store: &dyn TeamStore,
    config: &TeamConfig,
) -> Result<LeadStanding, StoreError> {
    let (team, lead) = (&config.name, MemberName::lead());
    let liveness = store.team(team).liveness(&lead).block_on()?;
    Ok(LeadStanding::judge(
        config,
        store.team(team).is_foreign().block_on(),
        liveness,
        || {
            store
                .team(team)
                .life_record(&lead)
                .block_on()
                .as_ref()
                .map(pid_of)
        },
    ))
}

fn pid_of(process: &LifeRecord) -> u32 {
    process.pid
}

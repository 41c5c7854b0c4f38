//! Whether a team may be deleted. No I/O.

use swarm_os::Liveness;
use swarm_protocol::{Member, MemberName, Reservation, StateReport, TeamConfig, TeamName};

use crate::{Result, StoreError, process};

/// Fails while members are running or being spawned.
pub(crate) fn refuse_if_busy(
    team: &TeamName,
    config: &TeamConfig,
    life_of: impl Fn(&Member) -> Result<Liveness>,
    report_of: impl Fn(&MemberName) -> Result<Option<StateReport>>,
) -> Result<()> {
    let mut members: Vec<MemberName> = Vec::new();
    let mut reasons = Vec::new();
    for member in config.teammates() {
        let reserved = member
            .swarm
            .as_ref()
            .and_then(|mark| mark.reservation.as_ref());
        let running = |spawn: &Reservation| process::spawner_is_running(spawn) != Some(false);
        let reason = match (reserved, life_of(member)?) {
            (Some(spawn), _) if running(spawn) => Some("is being spawned".to_owned()),
            (_, Liveness::Alive) => Some(is_at(member, report_of(&member.name).ok().flatten())),
            (Some(_), _) | (None, Liveness::Dead) => None,
            // An idle process of another program cannot be distinguished from a dead one.
            (None, Liveness::Foreign) => {
                Some("belongs to another program and may be running".to_owned())
            }
        };
        if let Some(reason) = reason {
            members.push(member.name.clone());
            reasons.push(format!("{} {reason}", member.name));
        }
    }
    if members.is_empty() {
        Ok(())
    } else {
        Err(StoreError::TeamBusy {
            team: team.clone(),
            members,
            reasons,
        })
    }
}

/// Describes a running member by its last report.
fn is_at(member: &Member, report: Option<StateReport>) -> String {
    let report = report.filter(|report| Some(report.spawn_id) == member.spawn_id());
    report.map_or_else(
        || "is running".to_owned(),
        |report| format!("is running ({})", report.state.name()),
    )
}

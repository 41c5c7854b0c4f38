//! Detection of dead teams. Only proof of death counts, never an age or a file time.

use swarm_os::Liveness;
use swarm_protocol::{MemberName, TeamConfig};
use swarm_store::{BlockOn as _, StoreError, TeamStore, process};

use crate::handover::handover;
use crate::process_list::{LeadStanding, ProcessKind, ProcessStatus, SeenProcess, lead_standing};
use crate::stop::member_liveness;

/// Result of the check of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// In use, or led manually.
    InUse,
    /// Its lead was lost, but it is kept for this reason, a sentence without a full stop.
    Kept(String),
    /// All its members are dead. The evidence is a sentence without a full stop.
    Dead(String),
}

/// Checks whether a team is dead. A team without a lead process belongs to a person and never
/// counts as dead. A team with open tasks or unread mail is kept unless `unfinished`. Teams of
/// other programs are skipped.
///
/// # Errors
/// Returns an error if the store fails.
pub fn verdict(
    store: &dyn TeamStore,
    config: &TeamConfig,
    seen: &[SeenProcess],
    unfinished: bool,
) -> Result<Verdict, StoreError> {
    let LeadStanding::Lost(pid) = lead_standing(store, config)? else {
        return Ok(Verdict::InUse);
    };
    let team = &config.name;
    // A lead of another program holds no life lock, and only that program knows whether the team is
    // needed.
    if store
        .team(team)
        .life_record(&MemberName::lead())
        .block_on()
        .is_none()
    {
        return Ok(Verdict::InUse);
    }
    let kept = |why: String| Ok(Verdict::Kept(why));
    if let Some((name, why)) = not_dead(store, config)? {
        return kept(format!("{name} {why}"));
    }
    let left = seen.iter().find(|process| {
        process.team.as_deref() == Some(team.as_str())
            && process.kind != ProcessKind::Lead
            && !matches!(process.standing, ProcessStatus::Elsewhere(_))
    });
    if let Some(process) = left {
        let pid = process.pid;
        return kept(format!(
            "its process {pid} is still running; terminate it with `swarm reap {team}`"
        ));
    }
    let found = handover(&*store.team(team))?;
    let open = found
        .tasks
        .tasks
        .iter()
        .filter(|task| !found.tasks.state(task).is_terminal())
        .count();
    if !unfinished && (open > 0 || found.unread != Some(0)) {
        let unread = match found.unread {
            Some(count) => format!("{count} unread messages for its lead"),
            None => "an inbox that cannot be read".to_owned(),
        };
        return kept(format!(
            "it could be resumed: {open} open tasks, {unread}; `swarm resume {team}` takes it over, `--unfinished` \
             archives it all the same"
        ));
    }
    let members = config.teammates().count();
    Ok(Verdict::Dead(format!(
        "its lead, process {pid}, and its {members} members are dead"
    )))
}

/// Returns the first member that is or may be running, and the reason.
fn not_dead(
    store: &dyn TeamStore,
    config: &TeamConfig,
) -> Result<Option<(MemberName, &'static str)>, StoreError> {
    for member in config.teammates() {
        let name = &member.name;
        let reservation = member
            .swarm
            .as_ref()
            .and_then(|mark| mark.reservation.as_ref());
        if let Some(spawn) = reservation
            && process::is_running(spawn.spawner_pid, &spawn.spawner_start) != Some(false)
        {
            return Ok(Some((name.clone(), "is being spawned")));
        }
        match member_liveness(&*store.team(&config.name), name)? {
            Liveness::Alive => return Ok(Some((name.clone(), "is running"))),
            Liveness::Foreign if reservation.is_none() && member.swarm.is_none() => {
                let why = "belongs to another program, and it is unknown whether it is running";
                return Ok(Some((name.clone(), why)));
            }
            Liveness::Foreign | Liveness::Dead => {}
        }
    }
    Ok(None)
}

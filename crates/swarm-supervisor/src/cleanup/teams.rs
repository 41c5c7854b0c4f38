//! Detection of dead teams. Only proof of death counts, never an age or a file time; an age also
//! matters for empty teams without processes.

use std::time::Duration;

use swarm_os::Liveness;
use swarm_protocol::{MemberName, TeamConfig, UnixMs};
use swarm_store::{BlockOn as _, StoreError, TeamStore, process};

use crate::handover::handover;
use crate::leadership::implicit_team_name;
use crate::process_list::{LeadStanding, ProcessKind, ProcessStatus, SeenProcess, lead_standing};
use crate::supervised::member_liveness;

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
/// counts as dead, unless it is an empty one that a session left behind long before `now`. A team
/// with open tasks or unread mail is kept unless `unfinished`. Teams of other programs are skipped.
/// A team on a server is kept: deleting it ends it for all machines, and nothing of it is archived.
///
/// # Errors
/// Returns an error if the store fails.
pub fn verdict(
    store: &dyn TeamStore,
    config: &TeamConfig,
    seen: &[SeenProcess],
    unfinished: bool,
    now: UnixMs,
) -> Result<Verdict, StoreError> {
    let team = &config.name;
    // Whatever is unfinished on a hub, it is not archived.
    let is_remote = store.team(team).is_remote();
    let verdict = judged(store, config, seen, unfinished || is_remote, now)?;
    Ok(match verdict {
        Verdict::Dead(why) if is_remote => Verdict::Kept(format!(
            "{why}; `swarm resume {team}` takes it over, `swarm team delete {team}` deletes it for all machines, with \
             everything on the hub"
        )),
        other => other,
    })
}

fn judged(
    store: &dyn TeamStore,
    config: &TeamConfig,
    seen: &[SeenProcess],
    unfinished: bool,
    now: UnixMs,
) -> Result<Verdict, StoreError> {
    let pid = match lead_standing(store, config)? {
        LeadStanding::Lost(pid) => pid,
        LeadStanding::ByHand => return unused(store, config, now),
        _ => return Ok(Verdict::InUse),
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

/// Age after which a team that a lead's session left behind empty is removed.
const UNUSED: Duration = Duration::from_hours(30 * 24);

/// Checks a team without a lead process: it is dead if swarm named it after a session, nothing is in
/// it, and nothing has happened in it for 30 days.
fn unused(store: &dyn TeamStore, config: &TeamConfig, now: UnixMs) -> Result<Verdict, StoreError> {
    let session = config.lead_session_id.as_deref();
    let session = session.and_then(|id| id.parse().ok());
    let is_implicit = session
        .and_then(|session| implicit_team_name(session).ok())
        .is_some_and(|name| name == config.name);
    if !is_implicit || config.teammates().next().is_some() {
        return Ok(Verdict::InUse);
    }
    let team = store.team(&config.name);
    let events = team.events().block_on()?.entries;
    let last = events.iter().map(|entry| entry.at).max();
    let last = last.unwrap_or(config.created_at);
    if u128::from(now.since(last)) < UNUSED.as_millis() {
        return Ok(Verdict::InUse);
    }
    let found = handover(&*team)?;
    if !found.tasks.tasks.is_empty() || found.unread != Some(0) {
        return Ok(Verdict::InUse);
    }
    Ok(Verdict::Dead(
        "its session ended at least 30 days ago, and it has no members, tasks and unread messages"
            .to_owned(),
    ))
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

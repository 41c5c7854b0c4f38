//! Changes of roster entries and of the lead process. No I/O.

use std::path::PathBuf;

use serde_json::{Value, json};
use swarm_os::Liveness;
use swarm_protocol::{
    BackendType, Event, Hello, LEAD_NAME, LeadProcess, LifeRecord, Member, MemberName, PaneId,
    SpawnId, SpawnTerms, TeamConfig, TeamName, UnixMs,
};

use super::undo::position_of;
use crate::{Result, StoreError, process};

/// Where a committed member runs.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) pane: PaneId,
    pub(crate) backend: BackendType,
    pub(crate) socket: Option<PathBuf>,
}

/// Commits a spawn. Returns its entry, and the event unless it was committed before.
pub(crate) fn commit(
    team: &TeamName,
    config: &mut TeamConfig,
    spawn: SpawnId,
    place: Place,
    hello_of: impl FnOnce(&MemberName) -> Result<Option<Hello>>,
) -> Result<(Member, Option<Event>)> {
    let Some(at) = position_of(config, spawn) else {
        return Err(StoreError::SpawnGone {
            team: team.clone(),
            spawn_id: spawn,
        });
    };
    let member = &mut config.members[at];
    let reserved = member.swarm.as_mut().filter(|m| m.reservation.is_some());
    let Some(mark) = reserved else {
        return Ok((member.clone(), None));
    };
    mark.reservation = None;
    mark.socket = place.socket;
    member.tmux_pane_id = place.pane;
    member.backend_type = Some(place.backend);
    let hello = hello_of(&member.name)?.filter(|hello| hello.spawn_id == spawn);
    if let Some(hello) = &hello {
        member.session_id = Some(hello.session_id.to_string());
    }
    let committed = Event::SpawnCommitted {
        member: member.name.clone(),
        spawn_id: spawn,
        pid: hello.as_ref().map_or(0, |hello| hello.pid),
        terms: Box::new(terms(member, hello)),
    };
    Ok((member.clone(), Some(committed)))
}

/// Returns the terms from the member's hello, completed from its roster entry.
fn terms(member: &Member, hello: Option<Hello>) -> SpawnTerms {
    let reserved = SpawnTerms {
        agent_type: member.agent_type.clone(),
        model: member.model.clone(),
        mode: member.mode.clone(),
        cwd: Some(member.cwd.clone()),
        worktree: member.worktree_path.clone(),
        backend: member.backend_type.clone(),
        pane: Some(member.tmux_pane_id.clone()),
    };
    let Some(hello) = hello else { return reserved };
    SpawnTerms {
        model: Some(hello.model),
        mode: Some(hello.mode.to_string()),
        cwd: Some(hello.cwd),
        worktree: hello.worktree.map(|worktree| worktree.toplevel),
        ..reserved
    }
}

/// Returns the index of a member that may be removed: not the lead, and with `spawn` only that
/// spawn.
pub(crate) fn removable(
    config: &TeamConfig,
    name: &MemberName,
    spawn: Option<SpawnId>,
) -> Option<usize> {
    config.members.iter().position(|member| {
        let wanted = spawn.is_none_or(|spawn| member.spawn_id() == Some(spawn));
        member.name == *name && !name.is_lead() && wanted
    })
}

/// Returns a member of a roster.
pub(crate) fn member_of<'c>(
    team: &TeamName,
    config: &'c TeamConfig,
    name: &MemberName,
) -> Result<&'c Member> {
    let member = config.member(name);
    member.ok_or_else(|| StoreError::member_not_found(team, config, name))
}

/// Adds a directory in which later members may use a tool.
pub(crate) fn allow_path(config: &mut TeamConfig, path: &str, tool: &str, now: UnixMs) {
    let entry = json!({
        "path": path, "toolName": tool, "addedBy": LEAD_NAME, "addedAt": now,
    });
    let paths = config
        .rest
        .entry("teamAllowedPaths")
        .or_insert_with(|| json!([]));
    let is_same = |known: &Value| known["path"] == *path && known["toolName"] == *tool;
    if let Value::Array(paths) = paths
        && !paths.iter().any(is_same)
    {
        paths.push(entry);
    }
}

/// Removes a directory that [`allow_path`] added.
pub(crate) fn disallow_path(config: &mut TeamConfig, path: &str, tool: &str) {
    if let Some(Value::Array(paths)) = config.rest.get_mut("teamAllowedPaths") {
        paths.retain(|known| known["path"] != *path || known["toolName"] != *tool);
    }
}

/// Sets or clears the lead process, unless another process leads.
pub(crate) fn set_lead_process(
    team: &TeamName,
    config: &mut TeamConfig,
    lead: Option<LeadProcess>,
) -> Result<()> {
    let other = config.lead_process.as_ref().filter(|present| {
        let same = lead.as_ref().is_some_and(|new| is_same(new, present));
        !same && present.pid != std::process::id()
    });
    if let Some(other) = other
        && process::lead_is_running(other) == Some(true)
    {
        return Err(led_by(team, other.pid));
    }
    config.lead_process = lead;
    Ok(())
}

/// Sets the conversation and the model of the lead process.
pub(crate) fn set_lead_session(config: &mut TeamConfig, session_id: &str, model: &str) {
    config.lead_session_id = Some(session_id.to_owned());
    if let Some(lead) = config.member_mut(&MemberName::lead()) {
        lead.model = Some(model.to_owned());
    }
}

/// Clears the lead process if it is still `lost`.
pub(crate) fn clear_lost_lead(
    team: &TeamName,
    config: &mut TeamConfig,
    lost: &LeadProcess,
) -> Result<()> {
    match &config.lead_process {
        Some(present) if !is_same(present, lost) => Err(led_by(team, present.pid)),
        _ => {
            config.lead_process = None;
            Ok(())
        }
    }
}

/// Fails while another process leads the team, given the state of the lead's lease and the record
/// of its holder. The lease is checked first: a new lead takes it first, and it works even if the
/// roster is unreadable.
pub(crate) fn refuse_if_led(
    team: &TeamName,
    named: Option<&LeadProcess>,
    lease: Liveness,
    holder: Option<LifeRecord>,
) -> Result<()> {
    let (pid, start) = match lease {
        Liveness::Dead => return Ok(()),
        Liveness::Alive => match holder {
            Some(life) => (life.pid, life.proc_start),
            // Only the lock counts; the content may be unreadable.
            None => (named.map_or(0, |lead| lead.pid), String::new()),
        },
        Liveness::Foreign => match named {
            Some(lead) if process::lead_is_running(lead) == Some(true) => {
                (lead.pid, lead.proc_start.clone())
            }
            _ => return Ok(()),
        },
    };
    let own = std::process::id();
    if pid == own && process::start_time(own).unwrap_or_default() == start {
        return Ok(());
    }
    Err(led_by(team, pid))
}

fn led_by(team: &TeamName, pid: u32) -> StoreError {
    StoreError::LeadAlive {
        team: team.clone(),
        pid,
    }
}

fn is_same(a: &LeadProcess, b: &LeadProcess) -> bool {
    a.pid == b.pid && a.proc_start == b.proc_start && a.pid_space == b.pid_space
}

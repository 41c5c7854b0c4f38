//! Collects the process list: processes first, then rosters.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use swarm_os::process::{Marked, Process, all_marked, command_line};
use swarm_protocol::ROOT_VARIABLE as ROOT;
use swarm_protocol::SPAWN_MARK as MARK;
use swarm_protocol::{LEAD_NAME, SANDBOX_HELPER, SpawnId, TeamName};
use swarm_store::process::{is_running, is_stopped, start_time};
use swarm_store::{BlockOn as _, StoreError, TeamStore};
use swarm_team::{MemberProcess, life_holders};

use super::rosters::Rosters;
use super::{Orphan, ProcessKind, ProcessStatus, SeenProcess};
use crate::ProcessIdentity;

const TEAM: &str = "SWARM_TEAM";
const NAME: &str = "SWARM_NAME";

/// Environment variable that identifies the lead in the processes of its shell.
const LEAD: &str = "SWARM_LEAD_PROCESS";

/// Returns the value of [`LEAD`]: the pid and start time, because pids are reused.
pub fn lead_mark(pid: u32, start: &str) -> (String, String) {
    (LEAD.to_owned(), format!("{pid}@{start}"))
}

/// Returns all environment marks of a lead's child processes, used to find and stop them after the
/// lead exits.
pub fn lead_marks(
    root: &Path,
    spawn_id: SpawnId,
    process: &ProcessIdentity,
) -> [(String, String); 4] {
    [
        (ROOT.to_owned(), root.display().to_string()),
        (NAME.to_owned(), LEAD_NAME.to_owned()),
        (MARK.to_owned(), spawn_id.to_string()),
        lead_mark(process.pid, &process.start),
    ]
}

/// Lists every visible process of swarm: leads and members by their life locks, and their child
/// processes and starting members by the marks in their environment. Processes of other config
/// directories, users and containers are listed separately. Changes nothing.
///
/// # Errors
/// Returns an error if the teams cannot be listed.
pub fn process_list(store: &dyn TeamStore, root: &Path) -> Result<Vec<SeenProcess>, StoreError> {
    // The order matters: a roster entry is reserved before its process starts, and spawn ids are
    // never reused, so a process without an entry is orphaned.
    let mut marked = all_marked(MARK, &[MARK, TEAM, NAME, ROOT, LEAD]);
    // Between an agent and its command; ends with it.
    marked.retain(|found| found.command.split(' ').nth(1) != Some(SANDBOX_HELPER));
    let members = members(store)?;
    marked.retain(|found| {
        let mut members = members.iter();
        members.all(|(_, member)| member.process != found.process)
    });
    let rosters = Rosters::read(store)?;
    let mut seen: Vec<SeenProcess> = rosters
        .leads()
        .filter_map(|(team, life, state)| {
            let pid = i32::try_from(life.pid).ok()?;
            let start = start_time(life.pid).filter(|start| *start == life.proc_start)?;
            let process = Process {
                pid,
                start: start.parse().ok()?,
            };
            Some(SeenProcess {
                team: Some(team.to_owned()),
                member: Some(LEAD_NAME.to_owned()),
                spawn_id: Some(life.spawn_id),
                kind: ProcessKind::Lead,
                pid,
                start: process.start,
                age: process.age(),
                command: command_line(pid),
                frozen: is_stopped(life.pid, &life.proc_start),
                standing: ProcessStatus::Placed {
                    state,
                    lead_lost: false,
                },
            })
        })
        .collect();
    let agents = seen.iter().map(|lead| lead.pid);
    let agents = agents.chain(members.iter().map(|(_, member)| member.process.pid));
    let agents: BTreeSet<i32> = agents.collect();
    for found in &mut marked {
        found.is_ours |= found.ancestors.iter().any(|pid| agents.contains(pid));
    }
    let member = |(team, member): &(TeamName, MemberProcess)| seen_member(&rosters, team, member);
    seen.extend(members.iter().map(member));
    let root = canonical(root);
    seen.extend(marked.iter().map(|process| judge(&rosters, &root, process)));
    seen.sort_by(|a, b| (&a.team, &a.member, a.start).cmp(&(&b.team, &b.member, b.start)));
    Ok(seen)
}

/// Returns the members running in this pid namespace, of every team and of partially deleted ones.
fn members(store: &dyn TeamStore) -> Result<Vec<(TeamName, MemberProcess)>, StoreError> {
    let (teams, remains) = store.teams_and_remains().block_on()?;
    let mut members = Vec::new();
    for team in teams.into_iter().chain(remains) {
        let holders = life_holders(&*store.team(&team))?.into_iter();
        let running = holders.filter(|holder| is_there(holder.process));
        members.extend(running.map(|holder| (team.clone(), holder)));
    }
    Ok(members)
}

/// Returns whether the process has this start time, because pids are reused.
fn is_there(process: Process) -> bool {
    u32::try_from(process.pid)
        .is_ok_and(|pid| is_running(pid, &process.start.to_string()) == Some(true))
}

fn seen_member(rosters: &Rosters, team: &TeamName, member: &MemberProcess) -> SeenProcess {
    let (process, spawn_id) = (member.process, member.spawn_id);
    SeenProcess {
        standing: rosters.standing(team.as_str(), member.name.as_str(), spawn_id),
        team: Some(team.to_string()),
        member: Some(member.name.to_string()),
        spawn_id: Some(spawn_id),
        kind: ProcessKind::Teammate,
        pid: process.pid,
        start: process.start,
        age: process.age(),
        command: command_line(process.pid),
        frozen: is_frozen(process),
    }
}

fn is_frozen(process: Process) -> bool {
    u32::try_from(process.pid).is_ok_and(|pid| is_stopped(pid, &process.start.to_string()))
}

fn judge(rosters: &Rosters, root: &Path, marked: &Marked) -> SeenProcess {
    let variable = |name: &str| marked.variables.get(name).cloned();
    let (team, member) = (variable(TEAM), variable(NAME));
    let spawn_id: Option<SpawnId> = variable(MARK).and_then(|text| text.parse().ok());
    let theirs = variable(ROOT).map(PathBuf::from);
    let mut kind = ProcessKind::Child;
    // Processes started before the lead created its team do not name the team.
    let mut team_of_lead = None;
    let standing = match (&theirs, spawn_id) {
        // A path in another mount namespace refers to another directory.
        (Some(theirs), Some(spawn_id)) if marked.is_ours && canonical(theirs) == root => {
            if member.as_deref() == Some(LEAD_NAME) {
                let (of, standing) = child_of_lead(rosters, spawn_id, marked);
                team_of_lead = of;
                standing
            } else {
                let (team, member) = (
                    team.as_deref().unwrap_or_default(),
                    member.as_deref().unwrap_or_default(),
                );
                if is_teammate(&marked.command) {
                    kind = ProcessKind::Teammate;
                }
                rosters.standing(team, member, spawn_id)
            }
        }
        _ => {
            if is_teammate(&marked.command) {
                kind = ProcessKind::Teammate;
            }
            ProcessStatus::Elsewhere(theirs)
        }
    };
    SeenProcess {
        team: team.filter(|team| !team.is_empty()).or(team_of_lead),
        member,
        spawn_id,
        kind,
        pid: marked.process.pid,
        start: marked.process.start,
        age: marked.process.age(),
        command: marked.command.clone(),
        frozen: is_frozen(marked.process),
        standing,
    }
}

/// Returns the child processes of a lead's shell, with the lead's team if a roster names it.
/// Children of a lead without a team are identified by the lead's process.
fn child_of_lead(
    rosters: &Rosters,
    spawn_id: SpawnId,
    marked: &Marked,
) -> (Option<String>, ProcessStatus) {
    let leads = rosters
        .leads()
        .find(|(_, life, _)| life.spawn_id == spawn_id);
    if let Some((team, _, state)) = leads {
        let standing = ProcessStatus::Placed {
            state,
            lead_lost: false,
        };
        return (Some(team.to_owned()), standing);
    }
    let lead = marked.variables.get(LEAD).and_then(|lead| {
        let (pid, start) = lead.split_once('@')?;
        Some((pid.parse().ok()?, start))
    });
    let standing = match lead {
        Some((pid, start)) if is_running(pid, start) == Some(false) => {
            ProcessStatus::Orphan(Orphan::LeadGone)
        }
        _ => ProcessStatus::Unknown,
    };
    (None, standing)
}

/// Returns whether a command line runs the teammate program.
fn is_teammate(command: &str) -> bool {
    let program = command.split(' ').next().unwrap_or_default();
    Path::new(program)
        .file_name()
        .is_some_and(|name| name == "swarm-teammate")
}

/// Returns the canonical path of a config directory, so that links compare equal.
pub(crate) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

//! Who runs this command: a person, or a member of a team through its shell.
//!
//! A member's processes carry its mark in their environment, and the member itself holds a life lock whose record
//! names its pid. Either among the ancestors is enough, so a cleared environment alone hides nobody; orphans of a
//! member's shell are handed to the member, which collects them as their new parent. A member without a terminal
//! descends from its lead: of several members among the ancestors the nearest acts.

use swarm_protocol::{ErrorKind, MemberName, SpawnId, TeamName};
use swarm_store::process::start_time;
use swarm_store::{StoreError, TeamStore};

use crate::failure::Failure;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Acting {
    /// A person, or a program of a person.
    Person,
    /// A member that is alive.
    Member {
        /// Its team.
        team: TeamName,
        /// Its name.
        name: MemberName,
        /// Its spawn.
        spawn_id: SpawnId,
    },
    /// Something that a member started, but the member itself is not known.
    Stray,
}

impl Acting {
    /// Looks at this process and its ancestors.
    pub(crate) fn find(store: &dyn TeamStore, marked: bool) -> Result<Self, StoreError> {
        let lineage = lineage();
        let mut nearest: Option<(usize, Self)> = None;
        for team in store.teams()? {
            let config = match store.config(&team) {
                Ok(config) => config,
                Err(StoreError::TeamNotFound { .. } | StoreError::Damaged { .. }) => continue,
                Err(error) => return Err(error),
            };
            for name in config.names() {
                let Some(life) = store.life_record(&team, &name) else {
                    continue;
                };
                let Some(distance) = lineage.iter().position(|pid| *pid == life.pid) else {
                    continue;
                };
                let is_nearer = nearest.as_ref().is_none_or(|(best, _)| distance < *best);
                if is_nearer && start_time(life.pid).is_some_and(|start| start == life.proc_start) {
                    let member = Self::Member {
                        team: team.clone(),
                        name,
                        spawn_id: life.spawn_id,
                    };
                    nearest = Some((distance, member));
                }
            }
        }
        if let Some((_, member)) = nearest {
            return Ok(member);
        }
        let stray = marked || lineage.iter().any(|pid| has_mark(*pid));
        Ok(if stray { Self::Stray } else { Self::Person })
    }

    /// Refuses what only a person may do.
    pub(crate) fn require_person(&self, what: &str) -> Result<(), Failure> {
        let who = match self {
            Self::Person => return Ok(()),
            Self::Member { team, name, .. } => format!("{name} of the team {team}"),
            Self::Stray => "a member's process".to_owned(),
        };
        Err(Failure::new(
            ErrorKind::Refused,
            format!("`swarm {what}` is for people, and this is {who}"),
        )
        .with_hint("an agent cannot answer, grant or end; ask the person or the lead"))
    }
}

/// This process and its ancestors, nearest first.
fn lineage() -> Vec<u32> {
    let mut found = Vec::new();
    let mut pid = std::process::id();
    while pid > 1 && !found.contains(&pid) {
        found.push(pid);
        let Some(parent) = parent(pid) else { break };
        pid = parent;
    }
    found
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, so the fields are counted from its last bracket.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

fn has_mark(pid: u32) -> bool {
    let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ
        .split(|byte| *byte == 0)
        .any(|entry| entry.starts_with(b"SWARM_SPAWN_ID="))
}

//! The identity of the caller: a person, a team member through its shell, or another agent program.
//!
//! A member holds a life lock whose record names its process, so its descendants are identified by
//! their ancestors. Orphaned processes of a member's shell are reparented to the member
//! (subreaper). Environment variables are additional evidence. A headless member descends from its
//! lead, so the nearest member among the ancestors is used. A member in its lead's process is
//! identified by the mark in the environment of the processes that it started.

use std::time::Duration;

use swarm_config::Environment;
use swarm_os::Liveness;
use swarm_protocol::{
    LifeKind, LifeRecord, MemberName, PermissionMode, SPAWN_MARK, SpawnId, TeamName,
};
use swarm_store::{BlockOn as _, StoreError, TeamStore};

use crate::failure::{Failure, Result};
use crate::lineage::{Lineage, Mark, PidSpace};

/// Set in the processes that a sub-agent's shell starts.
const SUB_AGENT_MARK: &str = "SWARM_SUB_AGENT_ID";

/// Hint for a person who is taken for an agent.
const FROM_OUTSIDE: &str =
    "run it in your own terminal, outside of agents and of tmux servers that agents started";

/// The caller of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Acting {
    /// A person, or a script of a person.
    Person,
    /// A person, or an agent that can type into the person's terminal, with the reason.
    PersonOrAgent(String),
    Member {
        team: TeamName,
        name: MemberName,
        spawn_id: SpawnId,
        /// Whether one of its sub-agents runs the command.
        is_sub_agent: bool,
    },
    /// A process that an unknown member started.
    Orphan,
    /// A caller in another pid namespace than a member on this host. It could be the member itself,
    /// because ancestors outside the namespace are not visible. Contains the member's name and
    /// team.
    Elsewhere(String),
    /// A process started by another agent program, with the evidence. It may act for its user, but
    /// not answer requests, grant trust or extend permissions.
    Agent(String),
}

impl Acting {
    /// Identifies the caller from this process and its ancestors.
    pub(crate) fn find(store: &dyn TeamStore, env: &Environment) -> Result<Self, StoreError> {
        let lineage = Lineage::own(env);
        let (teams, remains) = store.teams_and_remains().block_on()?;
        let known = lives(store, teams.iter().chain(&remains))?;
        let ancestors = known.iter().filter_map(|life| {
            let distance = lineage.distance(life.record.pid, &life.record.proc_start)?;
            // A task shares its process with the lead and other members; the mark tells them apart.
            let spawn = life.record.spawn_id.to_string();
            let is_task = life.record.kind == LifeKind::Task;
            let is_its = !is_task || lineage.has_value_below(distance, SPAWN_MARK, &spawn);
            is_its.then_some((distance, !is_task, life))
        });
        if let Some((distance, _, life)) = ancestors.min_by_key(|found| (found.0, found.1)) {
            return Ok(Self::Member {
                team: life.team.clone(),
                name: life.name.clone(),
                spawn_id: life.record.spawn_id,
                is_sub_agent: lineage.has_below(distance, SUB_AGENT_MARK),
            });
        }
        if lineage.has_below(usize::MAX, SPAWN_MARK) {
            return Ok(Self::Orphan);
        }
        if let Some(member) = elsewhere(store, &known, false) {
            return Ok(Self::Elsewhere(member));
        }
        let agent = lineage
            .mark()
            .map(|mark| in_words(&mark))
            .or_else(|| foreign_lead(store, &teams, &lineage));
        Ok(agent.map_or(Self::Person, Self::Agent))
    }

    /// Refuses team members. People and other agent programs are allowed.
    pub(crate) fn require_person(&self, what: &str) -> Result<()> {
        let (who, hint) = match self {
            Self::Person | Self::PersonOrAgent(_) | Self::Agent(_) | Self::Elsewhere(_) => {
                return Ok(());
            }
            Self::Member { team, name, .. } => (
                format!("this is {name} of team {team}"),
                "an agent cannot approve requests, grant permissions or stop members; ask the person or the lead",
            ),
            Self::Orphan => (
                format!("this shell was started by a member's shell (`{SPAWN_MARK}` is set)"),
                FROM_OUTSIDE,
            ),
        };
        let message = format!("`swarm {what}` is for people, but {who}");
        Err(Failure::refused(message).with_hint(hint))
    }

    /// Refuses all agent programs, for answering requests, granting trust and extending
    /// permissions.
    pub(crate) fn require_no_agent(&self, what: &str) -> Result<()> {
        self.require_person(what)?;
        match self {
            Self::PersonOrAgent(why) => {
                let message = format!("`swarm {what}` is not accepted here: {why}");
                Err(Failure::refused(message).with_hint(format!(
                    "run `swarm {what}` in a terminal outside of it, or allow this terminal with \
                     `permissions.answer_in_place = \"always\"`"
                )))
            }
            Self::Agent(shown_by) => {
                let message =
                    format!("`swarm {what}` is for people, but an agent runs it: {shown_by}");
                Err(Failure::refused(message).with_hint(FROM_OUTSIDE))
            }
            Self::Elsewhere(member) => Err(from_elsewhere(what, member)),
            _ => Ok(()),
        }
    }

    /// Refuses to answer requests of a team from another pid namespace than a member's, on any
    /// host.
    pub(crate) fn require_space_of(
        store: &dyn TeamStore,
        team: &TeamName,
        what: &str,
    ) -> Result<()> {
        let found = elsewhere(store, &lives(store, [team])?, true);
        found.map_or(Ok(()), |member| Err(from_elsewhere(what, &member)))
    }

    /// Refuses `--trust` from another agent program.
    pub(crate) fn require_trust(&self, what: &str, trust: bool) -> Result<()> {
        if trust {
            self.require_no_agent(&format!("{what} --trust"))?;
        }
        Ok(())
    }

    /// Refuses permission modes above `default` from another agent program.
    pub(crate) fn require_mode(&self, what: &str, mode: PermissionMode) -> Result<()> {
        if PermissionMode::Default.covers(mode) {
            return Ok(());
        }
        let refused = self.require_no_agent(&format!("{what} --mode {mode}"));
        refused.map_err(|failure| {
            failure.with_hint("run it in your own terminal, or with `--mode default`")
        })
    }
}

/// Returns the error for a command from another pid namespace than `member`'s.
pub(crate) fn from_elsewhere(what: &str, member: &str) -> Failure {
    let message = format!(
        "`swarm {what}` is refused: {member} runs in another pid namespace than this command"
    );
    Failure::refused(message)
        .with_hint("run it in your own terminal on the host or in the container of the team")
}

/// How long the server of a team may take to tell whether a member is alive.
const PATIENCE: Duration = Duration::from_secs(1);

/// The record in a member's life file on this machine; the member may be dead.
struct Life {
    team: TeamName,
    name: MemberName,
    record: LifeRecord,
}

/// Returns the records of members on this machine. No hub is asked: the command may concern another
/// team.
fn lives<'a>(
    store: &dyn TeamStore,
    teams: impl IntoIterator<Item = &'a TeamName>,
) -> Result<Vec<Life>, StoreError> {
    let mut lives = Vec::new();
    for team in teams {
        let files = store.team(team);
        for name in files.names_on_disk().block_on()? {
            let record = files.life_record_here(&name).block_on();
            lives.extend(record.map(|record| Life {
                team: team.clone(),
                name,
                record,
            }));
        }
    }
    Ok(lives)
}

/// Returns a member in another pid namespace that runs, or may run because its hub does not answer.
fn elsewhere(store: &dyn TeamStore, lives: &[Life], on_any_host: bool) -> Option<String> {
    let own = PidSpace::own();
    let may_run = |life: &Life| {
        let team = store.team(&life.team).with_lock_timeout(PATIENCE);
        match team.lease(&life.name).block_on() {
            Ok(found) => found == Liveness::Alive,
            Err(StoreError::TeamNotFound { .. } | StoreError::NotOnHub { .. }) => false,
            Err(_) => true,
        }
    };
    let found = lives
        .iter()
        .find(|life| own.differs(&life.record.pid_space, on_any_host) && may_run(life))?;
    Some(format!("{} of team {}", found.name, found.team))
}

fn in_words(mark: &Mark) -> String {
    let place = mark.ancestor.map_or_else(String::new, |pid| {
        format!(" in process {pid}, from which this one descends")
    });
    format!(
        "{} started it (`{}` is set{place})",
        mark.program, mark.variable
    )
}

/// Returns a lead of another program among the ancestors; such a lead has no life lock. It leads no
/// remote team.
fn foreign_lead(store: &dyn TeamStore, teams: &[TeamName], lineage: &Lineage) -> Option<String> {
    let files = teams.iter().map(|team| (team, store.team(team)));
    let mut files = files.filter(|(_, files)| !files.is_remote());
    files.find_map(|(team, files)| {
        let lead = files.config().block_on().ok()?.lead_process?;
        lineage.distance(lead.pid, &lead.proc_start)?;
        Some(format!(
            "the lead of team {team} started it (process {})",
            lead.pid
        ))
    })
}

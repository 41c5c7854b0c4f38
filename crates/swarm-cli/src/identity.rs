//! Who runs this command: a person, a member of a team through its shell, or something that another agent program started.
//!
//! A member holds a life lock whose record names its process, so its descendants are known by their ancestors; orphans of a
//! member's shell are handed to the member, which collects them as their new parent. The marks in environments only add to
//! that. A member without a terminal descends from its lead: of several members among the ancestors the nearest acts.

use swarm_protocol::{ErrorKind, MemberName, PermissionMode, SpawnId, TeamName};
use swarm_store::{StoreError, TeamStore};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::lineage::{Lineage, Mark};

/// Set in what the shell of a sub-agent starts.
const SUB_AGENT_MARK: &str = "SWARM_SUB_AGENT_ID";

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
        /// Whether a sub-agent of it runs the command.
        is_sub_agent: bool,
    },
    /// Something that a member started, but the member itself is not known.
    Stray,
    /// Something that another agent program started, and what shows it. It may act for the person who uses that program, but
    /// not answer, trust or widen in that person's place.
    Agent(String),
}

impl Acting {
    /// Looks at this process and its ancestors.
    pub(crate) fn find(store: &dyn TeamStore, env: &Environment) -> Result<Self, StoreError> {
        let lineage = Lineage::own(env);
        let (teams, remains) = store.teams_and_remains()?;
        let mut nearest: Option<(usize, Self)> = None;
        for team in teams.iter().chain(&remains) {
            for (name, life) in store.life_records(team) {
                let Some(distance) = lineage.distance(life.pid, &life.proc_start) else {
                    continue;
                };
                if nearest.as_ref().is_none_or(|(best, _)| distance < *best) {
                    let member = Self::Member {
                        team: team.clone(),
                        name,
                        spawn_id: life.spawn_id,
                        is_sub_agent: lineage.has_below(distance, SUB_AGENT_MARK),
                    };
                    nearest = Some((distance, member));
                }
            }
        }
        if let Some((_, member)) = nearest {
            return Ok(member);
        }
        Ok(match lineage.mark(env) {
            Some(mark) if mark.is_ours() => Self::Stray,
            Some(mark) => Self::Agent(in_words(&mark)),
            None => foreign_lead(store, &teams, &lineage).map_or(Self::Person, Self::Agent),
        })
    }

    /// Refuses what only a person may do, also through another agent program.
    pub(crate) fn require_person(&self, what: &str) -> Result<(), Failure> {
        let who = match self {
            Self::Person | Self::Agent(_) => return Ok(()),
            Self::Member { team, name, .. } => format!("{name} of the team {team}"),
            Self::Stray => "a member's process".to_owned(),
        };
        Err(Failure::new(
            ErrorKind::Refused,
            format!("`swarm {what}` is for people, and this is {who}"),
        )
        .with_hint("an agent cannot answer, grant or end; ask the person or the lead"))
    }

    /// Refuses what a person must do without any agent program in between: to answer, to trust and to widen.
    pub(crate) fn require_no_agent(&self, what: &str) -> Result<(), Failure> {
        self.require_person(what)?;
        let Self::Agent(shown_by) = self else {
            return Ok(());
        };
        let message = format!("`swarm {what}` is for people, and an agent runs it: {shown_by}");
        Err(Failure::new(ErrorKind::Refused, message)
            .with_hint("run it in a terminal of your own, outside of that agent"))
    }

    /// Refuses to let another agent program start agents that may do more than ask.
    pub(crate) fn require_mode(&self, what: &str, mode: PermissionMode) -> Result<(), Failure> {
        if PermissionMode::Default.covers(mode) {
            return Ok(());
        }
        let refused = self.require_no_agent(&format!("{what} --mode {mode}"));
        refused.map_err(|failure| {
            failure.with_hint("run it in a terminal of your own, or with `--mode default`")
        })
    }
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

/// A lead of another program, which has no life lock, among the ancestors.
fn foreign_lead(store: &dyn TeamStore, teams: &[TeamName], lineage: &Lineage) -> Option<String> {
    teams.iter().find_map(|team| {
        let lead = store.config(team).ok()?.lead_process?;
        lineage.distance(lead.pid, &lead.proc_start)?;
        Some(format!(
            "the lead of the team {team} started it (process {})",
            lead.pid
        ))
    })
}

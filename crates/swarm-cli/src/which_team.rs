//! The team that a command acts on.
//!
//! A team that nobody named is chosen only where there is no doubt, and a command that changes something says which
//! one it took. What ends members or deletes a team takes the only team there is, and never one of several.

use swarm_fs::Liveness;
use swarm_lead::{LeadStanding, lead_standing};
use swarm_protocol::{ErrorKind, TeamName};
use swarm_store::StoreError;

use crate::app::App;
use crate::failure::{Failure, with_causes};

/// The team that a command acts on when none was named.
enum Unnamed {
    /// There is no other.
    Only(TeamName),
    /// The others have no lead that lives, or no members that do.
    OnlyLive { team: TeamName, all: Vec<TeamName> },
}

impl App {
    /// The team that was asked for by flag or variable, if any.
    pub(crate) fn asked_team(&self) -> Result<Option<TeamName>, Failure> {
        let asked = self.flag_team.as_deref().or(self.env_team.as_deref());
        Ok(asked.map(TeamName::parse).transpose()?)
    }

    /// The team to look at: the one asked for, else the only one there is, else the only live one. Brings its records
    /// in line.
    pub(crate) fn team(&self) -> Result<TeamName, Failure> {
        let team = self.team_as_it_is()?;
        self.in_line(team)
    }

    /// The same, for who brings the records in line while looking at them.
    pub(crate) fn team_as_it_is(&self) -> Result<TeamName, Failure> {
        Ok(match self.asked_team()? {
            Some(team) => team,
            None => match self.unnamed()? {
                Unnamed::Only(team) | Unnamed::OnlyLive { team, .. } => team,
            },
        })
    }

    /// The same for a command that changes something, which says so when the team was one of several.
    pub(crate) fn team_to_change(&self) -> Result<TeamName, Failure> {
        let team = match self.asked_team()? {
            Some(team) => team,
            None => match self.unnamed()? {
                Unnamed::Only(team) => team,
                Unnamed::OnlyLive { team, all } => {
                    let count = all.len();
                    self.out.say(&format!(
                        "in team `{team}`, the only one of {count} in which somebody lives"
                    ));
                    team
                }
            },
        };
        self.in_line(team)
    }

    /// The same for a command that ends all members or deletes the team: of several teams none is taken unnamed.
    pub(crate) fn team_to_end(&self) -> Result<TeamName, Failure> {
        let team = match self.asked_team()? {
            Some(team) => team,
            None => match self.unnamed()? {
                Unnamed::Only(team) => team,
                Unnamed::OnlyLive { all, .. } => return Err(several(&all)),
            },
        };
        self.in_line(team)
    }

    /// The team of an agent id, which `--team` must not contradict; without one that of [`App::team_to_change`].
    pub(crate) fn team_of_id(&self, named: Option<TeamName>) -> Result<TeamName, Failure> {
        let Some(team) = named else {
            return self.team_to_change();
        };
        let flag = self.flag_team.as_deref().map(TeamName::parse).transpose()?;
        if let Some(asked) = flag.filter(|asked| *asked != team) {
            let message = format!("the agent id names the team {team}, but {asked} was asked for");
            return Err(
                Failure::usage(message).with_hint("leave `--team` out, or the team in the id")
            );
        }
        self.in_line(team)
    }

    /// Brings the records of a team in line. Where the disk takes nothing more, what is there can be looked at all the same.
    pub(crate) fn in_line(&self, team: TeamName) -> Result<TeamName, Failure> {
        match swarm_team::reconcile(&*self.store, &team) {
            Err(error) if error.is_for_want_of_room() => {
                self.out.warn(&format!("swarm: {}", not_entered(&error)));
            }
            done => drop(done?),
        }
        Ok(team)
    }

    fn unnamed(&self) -> Result<Unnamed, Failure> {
        let all = self.store.teams()?;
        if let [only] = &all[..] {
            return Ok(Unnamed::Only(only.clone()));
        }
        let mut live = Vec::new();
        for team in &all {
            if self.is_live(team)? {
                live.push(team.clone());
            }
        }
        match (&all[..], &live[..]) {
            ([], _) => Err(Failure::new(ErrorKind::NotFound, "there is no team")
                .with_hint("make one with `swarm team create NAME`")),
            (_, [only]) => Ok(Unnamed::OnlyLive {
                team: only.clone(),
                all,
            }),
            // Where somebody lives, it is one of these that is meant.
            (_, []) => Err(several(&all)),
            (_, live) => Err(several(live)),
        }
    }

    /// Whether somebody lives in a team and its lead is not lost: the members of a lost lead have parked, and only
    /// whoever takes the team over by name means them.
    fn is_live(&self, team: &TeamName) -> Result<bool, Failure> {
        let config = match self.store.config(team) {
            Ok(config) => config,
            // Deleted meanwhile, or damaged: whoever names it is told so.
            Err(StoreError::TeamNotFound { .. } | StoreError::Damaged { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if matches!(
            lead_standing(&*self.store, &config)?,
            LeadStanding::Lost { .. }
        ) {
            return Ok(false);
        }
        for name in config.names() {
            if self.store.liveness(team, &name)? == Liveness::Alive {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn several(teams: &[TeamName]) -> Failure {
    let names: Vec<&str> = teams.iter().map(TeamName::as_str).collect();
    let message = format!("there are several teams: {}", names.join(", "));
    Failure::usage(message).with_hint("say which with --team NAME or SWARM_TEAM")
}

/// What is said where somebody has ended and the disk has no room for it.
pub(crate) fn not_entered(error: &StoreError) -> String {
    let why = with_causes(error);
    format!(
        "who has ended is not entered yet: {why}; the next command does that once there is room"
    )
}

//! The team that a command acts on.
//!
//! A team that nobody named is chosen only where there is no doubt, and a command that changes something says which
//! one it took. What ends members or deletes a team takes the only team there is, and never one of several.

use swarm_fs::Liveness;
use swarm_lead::{LeadStanding, lead_standing};
use swarm_protocol::{ErrorKind, TeamName};
use swarm_store::{StoreError, TeamDamage};

use crate::app::App;
use crate::failure::{Failure, with_causes};
use crate::output::plain;

/// The team that a command acts on when none was named.
enum Unnamed {
    /// There is no other.
    Only(TeamName),
    /// The others have no lead that lives, or no members that do.
    OnlyLive { team: TeamName, all: Vec<Found> },
}

/// A team that is there, sound or not.
#[derive(Debug)]
struct Found {
    team: TeamName,
    damage: Option<TeamDamage>,
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
                Unnamed::Only(team) => team,
                Unnamed::OnlyLive { team, all } => {
                    self.tell_damaged(&all);
                    team
                }
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
                    self.tell_damaged(&all);
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
                Unnamed::OnlyLive { all, .. } => {
                    return Err(several(&all.iter().collect::<Vec<_>>()));
                }
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
        let (teams, remains) = self.store.teams_and_remains()?;
        match (&teams[..], &remains[..]) {
            ([], []) => {
                return Err(Failure::new(ErrorKind::NotFound, "there is no team")
                    .with_hint("make one with `swarm team create NAME`"));
            }
            ([only], []) => return Ok(Unnamed::Only(only.clone())),
            ([], [only]) => {
                if let Some(damage) = self.store.damage(only) {
                    return Err(without_roster(only, damage));
                }
            }
            _ => {}
        }
        let mut names = [teams, remains].concat();
        names.sort();
        let found = |team: TeamName| Found {
            damage: self.store.damage(&team),
            team,
        };
        let all: Vec<Found> = names.into_iter().map(found).collect();
        let mut live = Vec::new();
        for one in &all {
            let lives = match &one.damage {
                Some(damage) => damage.may_live,
                None => self.is_live(&one.team)?,
            };
            if lives {
                live.push(one);
            }
        }
        match &live[..] {
            [only] if only.damage.is_none() => Ok(Unnamed::OnlyLive {
                team: only.team.clone(),
                all,
            }),
            [] | [_] => Err(several(&all.iter().collect::<Vec<_>>())),
            // Where somebody lives, it is one of these that is meant.
            live => Err(several(live)),
        }
    }

    /// Says which teams were passed over though nobody can tell what is in them.
    fn tell_damaged(&self, all: &[Found]) {
        for one in all {
            if let Some(damage) = &one.damage {
                let (team, why) = (&one.team, with_causes(&damage.why));
                self.out
                    .say(&format!("team `{team}` is left out: {}", plain(&why)));
            }
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

fn several(teams: &[&Found]) -> Failure {
    let name = |one: &&Found| match &one.damage {
        Some(_) => format!("{} (damaged)", one.team),
        None => one.team.to_string(),
    };
    let names: Vec<String> = teams.iter().map(name).collect();
    let message = format!("there are several teams: {}", names.join(", "));
    let mut hint = "say which with --team NAME or SWARM_TEAM".to_owned();
    if teams.iter().any(|one| one.damage.is_some()) {
        hint += "; `swarm doctor` says what is damaged";
    }
    Failure::usage(message).with_hint(hint)
}

/// What to do about a team whose roster is gone.
pub(crate) fn without_roster(team: &TeamName, damage: TeamDamage) -> Failure {
    Failure::from(damage.why).with_hint(format!(
        "put it back, or take down what is left with `swarm team delete {team} --force`"
    ))
}

/// What is said where somebody has ended and the disk has no room for it.
pub(crate) fn not_entered(error: &StoreError) -> String {
    let why = with_causes(error);
    format!("who has ended is not entered yet: {why}; the next command that can write does that")
}

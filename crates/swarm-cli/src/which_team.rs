//! Selection of the team that a command uses.
//!
//! Without `--team` and `SWARM_TEAM` it is the most recently created team in the current repository
//! (outside a repository, in the current directory), or else the most recently created team.
//! Teams of other programs are used only if there are no others, or if they are named. A command that changes
//! something reports which of several teams it selected; commands that stop all members or delete a
//! team never select one of several.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_config::top_of;
use swarm_protocol::{TeamConfig, TeamName, with_causes};
use swarm_store::{BlockOn as _, ReconcileReport, StoreError, Team, TeamDamage};

use crate::app::App;
use crate::concurrently::run_both;
use crate::failure::{Failure, Result};
use crate::output::plain;
use crate::unreachable_hubs::{take_unreachable, unreachable};

/// A selected team.
struct Choice {
    team: TeamName,
    /// Whether it is the newest one in this directory, and not of all teams.
    is_here: bool,
    /// The teams among which it is the newest; empty if it was named or is the only one.
    among: Vec<Found>,
}

impl Choice {
    fn certain(team: TeamName) -> Self {
        Self {
            team,
            is_here: false,
            among: Vec::new(),
        }
    }
}

/// An existing team, possibly damaged.
#[derive(Debug)]
struct Found {
    team: TeamName,
    damage: Option<TeamDamage>,
}

impl App {
    /// Returns the team from the flag or variable, if any.
    pub(crate) fn asked_team(&self) -> Result<Option<TeamName>> {
        let asked = self.flag_team.as_deref().or(self.env_team.as_deref());
        Ok(asked.map(TeamName::parse).transpose()?)
    }

    /// Selects the team to read by flag, directory and age. Reconciles its records.
    pub(crate) fn team(&self) -> Result<Arc<dyn Team>> {
        self.in_line(&self.team_as_it_is()?)
    }

    /// Like [`App::team`], for callers that reconcile while reading.
    pub(crate) fn team_as_it_is(&self) -> Result<TeamName> {
        Ok(self.team_and_others()?.0)
    }

    /// Like [`App::team_as_it_is`]; also returns the other teams if the choice was not a flag's or
    /// variable's.
    pub(crate) fn team_and_others(&self) -> Result<(TeamName, Vec<TeamName>)> {
        let Choice { team, among, .. } = self.choice()?;
        self.tell_damaged(&among);
        let others = among.into_iter().map(|one| one.team);
        let others = others.filter(|other| *other != team).collect();
        Ok((team, others))
    }

    /// Like [`App::team`], for a command that changes something: reports the choice if there are
    /// several teams.
    pub(crate) fn team_to_change(&self) -> Result<Arc<dyn Team>> {
        let choice = self.choice()?;
        self.tell_damaged(&choice.among);
        let (team, count) = (&choice.team, choice.among.len());
        if count > 0 {
            self.out.say(&if choice.is_here {
                format!("in team `{team}`, the newest one in this directory (of {count} teams)")
            } else {
                format!("in team `{team}`, the newest of {count} teams")
            });
        }
        self.writable(&choice.team)
    }

    /// Prepares the team for changes; one that another program created gets swarm's files.
    fn writable(&self, team: &TeamName) -> Result<Arc<dyn Team>> {
        self.store.team(team).adopt().block_on()?;
        self.in_line(team)
    }

    /// Like [`App::team`], for a command that stops all members or deletes the team: requires a
    /// name if there are several teams.
    pub(crate) fn team_to_end(&self) -> Result<Arc<dyn Team>> {
        let Choice { team, among, .. } = self.choice()?;
        if !among.is_empty() {
            return Err(several(&among));
        }
        self.writable(&team)
    }

    /// Returns the team of an agent id, which must match `--team`; without an id, as
    /// [`App::team_to_change`].
    pub(crate) fn team_of_id(&self, named: Option<TeamName>) -> Result<Arc<dyn Team>> {
        let Some(team) = named else {
            return self.team_to_change();
        };
        let flag = self.flag_team.as_deref().map(TeamName::parse).transpose()?;
        if let Some(asked) = flag.filter(|asked| *asked != team) {
            let message = format!("the agent id names the team {team}, but `--team` is {asked}");
            return Err(Failure::usage(message).with_hint("omit `--team`, or the team in the id"));
        }
        self.writable(&team)
    }

    /// Returns the named team, or the default one. Reconciles its records.
    pub(crate) fn named_team(&self, name: Option<&str>) -> Result<Arc<dyn Team>> {
        match name {
            None => self.team(),
            Some(name) => self.in_line(&TeamName::parse(name)?),
        }
    }

    /// Reconciles the records of a team. On a full disk, or while another process holds a lock, existing
    /// data can still be read.
    pub(crate) fn in_line(&self, team: &TeamName) -> Result<Arc<dyn Team>> {
        let team = self.store.team(team);
        self.reconcile(&team)?;
        Ok(team)
    }

    /// Returns whether something may have changed.
    fn reconcile(&self, team: &Arc<dyn Team>) -> Result<bool> {
        match swarm_team::reconcile(team) {
            Err(error) if error.prevents_only_changes() => {
                self.out.warn(&format!("swarm: {}", not_entered(&error)));
                Ok(true)
            }
            done => Ok(done? != ReconcileReport::default()),
        }
    }

    /// Like [`App::team`], with what `read` returns of it. A hub is asked for both at the same time.
    pub(crate) fn team_with<T: Send>(
        &self,
        read: impl Fn(&dyn Team) -> Result<T, StoreError> + Sync,
    ) -> Result<(Arc<dyn Team>, T)> {
        let team = self.store.team(&self.team_as_it_is()?);
        if !team.is_remote() {
            self.reconcile(&team)?;
            let found = read(&*team)?;
            return Ok((team, found));
        }
        let (found, changed) = run_both(|| read(&*team), || self.reconcile(&team));
        let found = if changed? { read(&*team) } else { found };
        Ok((team, found?))
    }

    /// Returns the teams for `--all`, those that work in this directory first.
    pub(crate) fn all_teams(&self) -> Result<Vec<TeamName>> {
        if self.flag_team.is_some() {
            return Err(Failure::usage("`--all` and `--team` exclude each other"));
        }
        let mut teams = self.store.teams().block_on()?;
        self.leave_out_unreachable(&mut teams);
        self.here_first(&mut teams);
        Ok(teams)
    }

    /// Leaves the teams out of a listing whose hub cannot be used, and prints a warning for each hub.
    pub(crate) fn leave_out_unreachable(&self, teams: &mut Vec<TeamName>) {
        for left_out in take_unreachable(&*self.store, teams) {
            self.out.remark(&format!("left out: {}", left_out.text()));
        }
    }

    /// Sorts teams: those that work in this directory first, then by name.
    pub(crate) fn here_first(&self, teams: &mut [TeamName]) {
        let place = place_of(&self.env.cwd);
        let is_here = |team: &TeamName| {
            let config = self.store.team(team).config().block_on();
            config.is_ok_and(|config| works_in(&config, &place))
        };
        teams.sort_by_cached_key(|team| (!is_here(team), team.clone()));
    }

    fn choice(&self) -> Result<Choice> {
        match self.asked_team()? {
            Some(team) => Ok(Choice::certain(team)),
            None => self.newest(),
        }
    }

    /// Selects a team that is not named.
    fn newest(&self) -> Result<Choice> {
        let (teams, remains) = self.store.teams_and_remains().block_on()?;
        match (&teams[..], &remains[..]) {
            ([], []) => {
                return Err(Failure::of_sandbox().unwrap_or_else(|| {
                    Failure::not_found("no teams found")
                        .with_hint("create one with `swarm team create NAME`")
                }));
            }
            ([only], []) => return Ok(Choice::certain(only.clone())),
            ([], [only]) => {
                if let Some(damage) = self.store.team(only).damage().block_on() {
                    return Err(without_roster(only, damage));
                }
            }
            _ => {}
        }
        // Members may run in a team whose hub cannot be asked.
        let mut failed: BTreeMap<_, _> = unreachable(&*self.store, &teams).into_iter().collect();
        failed.retain(|_, error| !matches!(error, StoreError::NotOnHub { .. }));
        if !failed.is_empty() {
            let may_live = true;
            let found = teams.into_iter().map(|team| {
                let why = failed.remove(&team);
                let damage = why.map(|why| TeamDamage { why, may_live });
                Found { team, damage }
            });
            return Err(several(&found.collect::<Vec<_>>()));
        }
        // A team of another program is used only if it is named.
        let own = |team: &TeamName| {
            let team = self.store.team(team);
            !team.is_foreign().block_on() && !team.is_adopted().block_on().unwrap_or(false)
        };
        let teams = match teams.iter().filter(|team| own(team)).cloned().collect() {
            own if Vec::is_empty(&own) => teams,
            own => own,
        };
        if let ([only], []) = (&teams[..], &remains[..]) {
            return Ok(Choice::certain(only.clone()));
        }
        let mut names = [teams, remains].concat();
        names.sort();
        let found = |team: TeamName| Found {
            damage: self.store.team(&team).damage().block_on(),
            team,
        };
        let all: Vec<Found> = names.into_iter().map(found).collect();
        let may_live = |one: &Found| one.damage.as_ref().is_some_and(|damage| damage.may_live);
        if all.iter().any(may_live) {
            return Err(several(&all));
        }
        let mut sound = Vec::new();
        for one in all.iter().filter(|one| one.damage.is_none()) {
            match self.store.team(&one.team).config().block_on() {
                Ok(config) => sound.push(config),
                // The team was deleted meanwhile.
                Err(StoreError::TeamNotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let place = place_of(&self.env.cwd);
        let here = |config: &&TeamConfig| works_in(config, &place);
        let newest_here = newest(sound.iter().filter(here));
        let Some(config) = newest_here.or_else(|| newest(sound.iter())) else {
            return Err(several(&all));
        };
        Ok(Choice {
            team: config.name.clone(),
            is_here: newest_here.is_some(),
            among: all,
        })
    }

    /// Reports teams that were skipped because they cannot be read.
    fn tell_damaged(&self, all: &[Found]) {
        for one in all {
            if let Some(damage) = &one.damage {
                let (team, why) = (&one.team, with_causes(&damage.why));
                self.out
                    .say(&format!("team `{team}` skipped: {}", plain(&why)));
            }
        }
    }
}

fn newest<'a>(teams: impl Iterator<Item = &'a TeamConfig>) -> Option<&'a TeamConfig> {
    teams.max_by_key(|config| config.created_at)
}

/// Returns whether the lead or a member of a team works in a directory.
fn works_in(config: &TeamConfig, place: &Path) -> bool {
    let mut at = config.members.iter().map(|member| &member.cwd);
    at.any(|cwd| place_of(cwd) == place)
}

/// Returns the top of the repository that contains a directory, or the directory itself.
fn place_of(cwd: &Path) -> PathBuf {
    top_of(cwd).unwrap_or_else(|_| cwd.to_owned())
}

fn several(teams: &[Found]) -> Failure {
    let name = |one: &Found| match &one.damage {
        Some(damage) if damage.why.is_of_hub() => format!("{} (its hub cannot be used)", one.team),
        Some(_) => format!("{} (damaged)", one.team),
        None => one.team.to_string(),
    };
    let names: Vec<String> = teams.iter().map(name).collect();
    let message = format!("there are several teams: {}", names.join(", "));
    let mut hint = "choose one with --team NAME or SWARM_TEAM".to_owned();
    if teams.iter().any(|one| one.damage.is_some()) {
        hint += "; `swarm doctor` reports the damage";
    }
    Failure::usage(message).with_hint(hint)
}

pub(crate) fn without_roster(team: &TeamName, damage: TeamDamage) -> Failure {
    Failure::from(damage.why).with_hint(format!(
        "restore it, or remove the rest with `swarm team delete {team} --force`"
    ))
}

/// Returns the notice that stopped members could not be recorded.
pub(crate) fn not_entered(error: &StoreError) -> String {
    let why = with_causes(error);
    format!(
        "stopped members are not recorded yet: {why}; the next command that can write records them"
    )
}

//! Selection of the members to stop.

use std::str::FromStr;
use std::sync::Arc;

use swarm_protocol::{AgentId, Member, MemberName, NameError, TeamName};
use swarm_store::{BlockOn as _, Team};

use crate::app::App;
use crate::commands::members;
use crate::failure::{Failure, Result};

/// A member argument: `NAME`, or an agent id `NAME@TEAM`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberWord {
    pub(crate) name: MemberName,
    pub(crate) team: Option<TeamName>,
}

impl FromStr for MemberWord {
    type Err = NameError;

    fn from_str(word: &str) -> Result<Self, NameError> {
        if word.contains('@') {
            let id: AgentId = word.parse()?;
            return Ok(Self {
                name: id.name,
                team: Some(id.team),
            });
        }
        Ok(Self {
            name: MemberName::parse(word)?,
            team: None,
        })
    }
}

// A doc comment here would replace the help of the commands that flatten this.
#[derive(Debug, clap::Args)]
pub(crate) struct StopTargets {
    /// Members, as NAME or NAME@TEAM; team-lead stops a run with its team.
    #[arg(id = "name", value_name = "NAME", required_unless_present = "all")]
    pub(crate) names: Vec<MemberWord>,
    /// All members.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

impl StopTargets {
    /// Returns whether the output is a list.
    pub(crate) fn is_several(&self) -> bool {
        self.all || self.names.len() > 1
    }
}

/// Returns the team whose lead to stop, if the arguments name a lead. It is the only one:
/// its teammates stop with it.
pub(super) fn lead_target(app: &App, targets: &StopTargets) -> Result<Option<Arc<dyn Team>>> {
    if !targets.names.iter().any(|word| word.name.is_lead()) {
        return Ok(None);
    }
    if targets.names.len() > 1 {
        return Err(
            Failure::usage("the team lead stops together with its teammates")
                .with_hint("name the lead alone, or only teammates"),
        );
    }
    app.team_of_id(team_in(&targets.names)?).map(Some)
}

/// Returns the team and the selected members, none of which is a lead. `with_foreign` says whether
/// all members include those that other programs run.
pub(super) fn targets(
    app: &App,
    targets: &StopTargets,
    with_foreign: bool,
) -> Result<(Arc<dyn Team>, Vec<MemberName>)> {
    if targets.names.is_empty() {
        let team = app.team_to_end()?;
        let members = all_of(app, &*team, with_foreign)?;
        return Ok((team, members));
    }
    let team = app.team_of_id(team_in(&targets.names)?)?;
    let config = team.known_config().block_on()?;
    let mut members = Vec::new();
    for MemberWord { name, .. } in &targets.names {
        let name = &members::known(&config, name)?.name;
        if !members.contains(name) {
            members.push(name.clone());
        }
    }
    Ok((team, members))
}

/// Returns the team named by agent ids in the arguments.
fn team_in(words: &[MemberWord]) -> Result<Option<TeamName>> {
    let mut teams: Vec<&TeamName> = words.iter().filter_map(|word| word.team.as_ref()).collect();
    teams.dedup();
    match teams[..] {
        [] => Ok(None),
        [team] => Ok(Some(team.clone())),
        _ => Err(Failure::usage("these are members of several teams")
            .with_hint("stop the members of one team at a time")),
    }
}

fn all_of(app: &App, team: &dyn Team, with_foreign: bool) -> Result<Vec<MemberName>> {
    let config = team.known_config().block_on()?;
    let is_target = |member: &&Member| with_foreign || member.swarm.is_some();
    let (chosen, others): (Vec<_>, Vec<_>) = config.teammates().partition(is_target);
    for other in others {
        app.out.say(&format!(
            "swarm: {} belongs to another program: stop it there",
            other.name
        ));
    }
    if chosen.is_empty() {
        app.out.say("no members to stop");
    }
    let names = chosen.into_iter().map(|member| member.name.clone());
    Ok(names.collect())
}

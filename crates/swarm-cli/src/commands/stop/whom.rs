//! Who is to be ended.

use std::str::FromStr;

use swarm_protocol::{AgentId, MemberName, NameError, TeamName};

use crate::app::App;
use crate::commands::members;
use crate::failure::Failure;

/// A member as people name it: `NAME`, or its agent id `NAME@TEAM`.
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

// A member, or all of them. A doc comment would be the help of the commands that flatten this.
#[derive(Debug, clap::Args)]
pub(crate) struct Whom {
    /// Member, as NAME or NAME@TEAM.
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<MemberWord>,
    /// All members that swarm started.
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

/// The team and the members that are meant.
pub(super) fn whom(app: &App, whom: &Whom) -> Result<(TeamName, Vec<MemberName>), Failure> {
    let team = match &whom.name {
        Some(word) => app.team_of_id(word.team.clone())?,
        None => app.team_to_end()?,
    };
    let name = whom.name.as_ref().map(|word| &word.name);
    let members = members_of(app, &team, name)?;
    Ok((team, members))
}

fn members_of(
    app: &App,
    team: &TeamName,
    name: Option<&MemberName>,
) -> Result<Vec<MemberName>, Failure> {
    let config = app.store.config(team)?;
    if let Some(name) = name {
        if name.is_lead() {
            return Err(Failure::usage("the team lead is not ended by this command")
                .with_hint("end it where it runs (Ctrl-C), or all its teammates with `--all`"));
        }
        return Ok(vec![members::known(&config, name)?.name.clone()]);
    }
    let (ours, others): (Vec<_>, Vec<_>) = config
        .teammates()
        .partition(|member| member.swarm.is_some());
    for other in others {
        app.out.say(&format!(
            "swarm: {} belongs to another program: end it where it runs",
            other.name
        ));
    }
    if ours.is_empty() {
        app.out.say("there is nobody to end");
    }
    Ok(ours.into_iter().map(|member| member.name.clone()).collect())
}

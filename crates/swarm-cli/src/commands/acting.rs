//! The actor on whose behalf a command runs.

use std::sync::Arc;

use swarm_protocol::{MemberName, SpawnId, TeamName};
use swarm_store::{Actor, Team};

use crate::app::App;
use crate::failure::{Failure, Result};
use crate::identity::{Acting, from_elsewhere};

/// A team and the actor on whose behalf a command changes it.
#[derive(Debug, Clone)]
pub(crate) struct CommandActor {
    pub(crate) team: Arc<dyn Team>,
    /// Name of the member; a person acts as the lead.
    pub(crate) name: MemberName,
    /// Spawn of the member; `None` for a person.
    spawn_id: Option<SpawnId>,
    pub(crate) is_person: bool,
}

/// Refuses members and the processes they started. Other agent programs may act for their user.
pub(super) fn require_person(app: &App, what: &str) -> Result<Acting> {
    let acting = app.acting()?;
    acting.require_person(what)?;
    Ok(acting)
}

pub(super) fn require_no_agent(app: &App, what: &str) -> Result<()> {
    app.acting()?.require_no_agent(what)
}

/// Returns the team whose request a person answers. Refuses all agent programs.
pub(super) fn team_to_answer(app: &App, what: &str) -> Result<Arc<dyn Team>> {
    require_no_agent(app, what)?;
    let team = app.team_to_change()?;
    Acting::require_space_of(&*app.store, team.name(), what)?;
    Ok(team)
}

/// Returns the actor: a person as the lead, or a member in its own team.
pub(super) fn command_actor(app: &App, what: &str) -> Result<CommandActor> {
    party_in(app, what, None)
}

/// Like [`command_actor`], in a team that is not named by a flag or variable.
pub(super) fn party_in(app: &App, what: &str, named: Option<TeamName>) -> Result<CommandActor> {
    match app.acting()? {
        Acting::Person | Acting::PersonOrAgent(_) | Acting::Agent(_) => {
            Ok(CommandActor::person(app.team_of_id(named)?))
        }
        Acting::Member {
            team,
            name,
            spawn_id,
            is_sub_agent,
        } => {
            if is_sub_agent {
                let message =
                    format!("`swarm {what}` is for members, but this is a sub-agent of {name}");
                return Err(Failure::refused(message).with_hint(
                    "a sub-agent reports to the agent that started it, which can do this",
                ));
            }
            if let Some(asked) = app.asked_team()?.filter(|asked| *asked != team) {
                let message = format!("{name} belongs to the team {team}, not to {asked}");
                return Err(Failure::refused(message)
                    .with_hint("a member can only act in its own team; omit `--team`"));
            }
            Ok(CommandActor {
                team: app.in_line(&team)?,
                name,
                spawn_id: Some(spawn_id),
                is_person: false,
            })
        }
        Acting::Elsewhere(member) => Err(from_elsewhere(what, &member)),
        Acting::Orphan => Err(Failure::of_sandbox().unwrap_or_else(|| {
            let message = format!(
                "`swarm {what}` refused: the member that started it is no longer in the team"
            );
            Failure::refused(message)
                .with_hint("run it in a shell that was not started by an agent")
        })),
    }
}

impl CommandActor {
    /// A person, as the lead of a team.
    pub(super) fn person(team: Arc<dyn Team>) -> Self {
        Self {
            team,
            name: MemberName::lead(),
            spawn_id: None,
            is_person: true,
        }
    }

    /// Returns the actor for the task list.
    pub(super) fn actor(&self) -> Actor {
        let team = self.team.name();
        if self.is_person {
            Actor::person(team)
        } else {
            Actor::member(team, self.name.clone(), self.spawn_id)
        }
    }

    /// Refuses members; `what` is the command that requires a person.
    pub(super) fn require_person(&self, what: &str) -> Result<()> {
        if self.is_person {
            return Ok(());
        }
        let message = format!("`{what}` is for people, but this is {}", self.name);
        Err(Failure::refused(message)
            .with_hint("a member acts for itself; ask the person or the lead"))
    }
}

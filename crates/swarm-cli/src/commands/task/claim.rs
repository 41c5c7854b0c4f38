//! `swarm task claim`, `swarm task release` and `swarm task delete`.

use serde_json::json;
use swarm_protocol::{MemberName, TaskId};
use swarm_store::{Actor, BlockOn as _};

use super::record::{self, warn_undelivered};
use crate::app::App;
use crate::commands::acting::{CommandActor, command_actor};
use crate::commands::members;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm task claim 2
  swarm task claim --next --as bob")]
pub(crate) struct TaskClaimArgs {
    /// Task number.
    #[arg(required_unless_present = "next")]
    pub(crate) id: Option<TaskId>,
    /// Claim the next available task, preferring the member's own.
    #[arg(long, conflicts_with = "id")]
    pub(crate) next: bool,
    /// Member that claims the task [default: the calling member, else team-lead].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) member: Option<MemberName>,
}

pub(super) fn claim(app: &App, args: &TaskClaimArgs) -> Result<()> {
    let command_actor = command_actor(app, "task claim")?;
    let actor = claimant(&command_actor, args.member.as_ref())?;
    let claimed = match args.id {
        Some(id) => command_actor.team.claim(&id, &actor).block_on()?,
        None => command_actor
            .team
            .claim_next(&actor)
            .block_on()?
            .ok_or_else(|| nothing_free(&actor))?,
    };
    if app.out.json {
        let list = command_actor.team.tasks().block_on()?;
        app.out.json(&record::record(&claimed, &list)?)?;
    } else {
        let owner = claimed.owner.as_deref().unwrap_or_default();
        let line = format!("#{} is owned by {owner}: {}", claimed.id, claimed.subject);
        app.out.data(&swarm_ui::clean_line(&line))?;
    }
    warn_undelivered(app, &*command_actor.team);
    Ok(())
}

/// Returns the member that acts; a person may name any member.
pub(super) fn claimant(command_actor: &CommandActor, named: Option<&MemberName>) -> Result<Actor> {
    match named {
        Some(name) if name != &command_actor.name => {
            command_actor.require_person("--as")?;
            let config = command_actor.team.known_config().block_on()?;
            let actor = members::actor(&config, name)?;
            Ok(actor.in_name_of(&command_actor.name))
        }
        _ => Ok(command_actor.actor()),
    }
}

fn nothing_free(actor: &Actor) -> Failure {
    let message = format!("no task is available for {}", actor.name());
    Failure::not_found(message).with_hint("`swarm task list` shows what blocks the others")
}

pub(super) fn release(app: &App, id: TaskId) -> Result<()> {
    let command_actor = command_actor(app, "task release")?;
    let task = command_actor
        .team
        .release(&id, &command_actor.actor())
        .block_on()?;
    let list = command_actor.team.tasks().block_on()?;
    let state = list.state(&task);
    app.out.result(
        &record::record(&task, &list)?,
        &format!("#{id} is {} and has no owner", state.name()),
    )?;
    warn_undelivered(app, &*command_actor.team);
    Ok(())
}

pub(super) fn delete(app: &App, id: TaskId) -> Result<()> {
    let command_actor = command_actor(app, "task delete")?;
    let freed = command_actor
        .team
        .delete_task(&id, &command_actor.actor())
        .block_on()?;
    let ids: Vec<TaskId> = freed.iter().map(|task| task.id).collect();
    app.out.result(
        &json!({ "id": id, "state": "deleted", "unblocked": ids }),
        &format!("#{id} is deleted"),
    )?;
    warn_undelivered(app, &*command_actor.team);
    Ok(())
}

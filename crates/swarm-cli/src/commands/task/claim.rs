//! `swarm task claim` and `swarm task release`.

use std::process::ExitCode;

use swarm_protocol::{ErrorKind, MemberName, Task, TaskId};
use swarm_store::{Actor, BlockOn as _};

use super::record;
use crate::app::App;
use crate::commands::acting::{CommandActor, command_actor};
use crate::commands::members;
use crate::failure::Failure;

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

pub(super) fn claim(app: &App, args: &TaskClaimArgs) -> Result<ExitCode, Failure> {
    let command_actor = command_actor(app, "task claim")?;
    let actor = claimant(app, &command_actor, args.member.as_ref())?;
    let claimed = match args.id {
        Some(id) => app
            .store
            .team(&command_actor.team)
            .claim(&id, &actor)
            .block_on()?,
        None => app
            .store
            .team(&command_actor.team)
            .claim_next(&actor)
            .block_on()?
            .ok_or_else(|| nothing_free(&actor))?,
    };
    if app.out.json {
        show(app, &command_actor, &claimed)?;
    } else {
        let owner = claimed.owner.as_deref().unwrap_or_default();
        let line = format!("#{} is owned by {owner}: {}", claimed.id, claimed.subject);
        app.out.data(&swarm_ui::clean_line(&line))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the member that acts; a person may name any member.
pub(super) fn claimant(
    app: &App,
    command_actor: &CommandActor,
    named: Option<&MemberName>,
) -> Result<Actor, Failure> {
    match named {
        Some(name) if name != &command_actor.name => {
            command_actor.require_person("--as")?;
            let config = app.store.team(&command_actor.team).config().block_on()?;
            let actor = members::actor(&config, name)?;
            Ok(actor.in_name_of(&command_actor.name))
        }
        _ => Ok(command_actor.actor()),
    }
}

fn nothing_free(actor: &Actor) -> Failure {
    let message = format!("no task is available for {}", actor.name());
    Failure::new(ErrorKind::NotFound, message)
        .with_hint("`swarm task list` shows what blocks the others")
}

pub(super) fn release(app: &App, id: TaskId) -> Result<ExitCode, Failure> {
    let command_actor = command_actor(app, "task release")?;
    let task = app
        .store
        .team(&command_actor.team)
        .release(&id, &command_actor.actor())
        .block_on()?;
    let list = app.store.team(&command_actor.team).tasks().block_on()?;
    if app.out.json {
        show(app, &command_actor, &task)?;
    } else {
        let state = list.state(&task).name();
        app.out
            .data(&format!("#{id} is {state} and has no owner"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(app: &App, command_actor: &CommandActor, task: &Task) -> Result<(), Failure> {
    let list = app.store.team(&command_actor.team).tasks().block_on()?;
    app.out.json(&record::record(task, &list)?)
}

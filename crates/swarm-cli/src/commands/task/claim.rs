//! `swarm task claim` and `swarm task release`.

use std::process::ExitCode;

use swarm_protocol::{ErrorKind, MemberName, Task, TaskId, TaskState};
use swarm_store::Actor;

use super::{record, tell};
use crate::app::App;
use crate::commands::acting::{Party, party};
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
    let party = party(app, "task claim")?;
    let actor = claimant(app, &party, args)?;
    let before = app.store.team(&party.team).tasks()?;
    let claimed = match args.id {
        Some(id) => app.store.team(&party.team).claim(&id, &actor)?,
        None => app
            .store
            .team(&party.team)
            .claim_next(&actor)?
            .ok_or_else(|| nothing_free(&actor))?,
    };
    if app.out.json {
        show(app, &party, &claimed)?;
    } else {
        let owner = claimed.owner.as_deref().unwrap_or_default();
        let line = format!("#{} is owned by {owner}: {}", claimed.id, claimed.subject);
        app.out.data(&swarm_ui::clean_line(&line))?;
    }
    let config = app.store.team(&party.team).config()?;
    let had_it = before
        .get(claimed.id)
        .is_some_and(|task| task.is_owned_by(&actor.agent_id));
    // A member in another process is notified, unless it was notified when the task was assigned.
    if !had_it
        && config
            .member(actor.name())
            .is_some_and(|member| member.swarm.is_some())
    {
        tell::owner(app, &party, &claimed)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the member that gets the task; a person may name any member.
fn claimant(app: &App, party: &Party, args: &TaskClaimArgs) -> Result<Actor, Failure> {
    match &args.member {
        Some(name) if name != &party.name => {
            party.require_person("--as")?;
            members::actor(&app.store.team(&party.team).config()?, name)
        }
        _ => Ok(party.actor()),
    }
}

fn nothing_free(actor: &Actor) -> Failure {
    let message = format!("no task is available for {}", actor.name());
    Failure::new(ErrorKind::NotFound, message)
        .with_hint("`swarm task list` shows what blocks the others")
}

pub(super) fn release(app: &App, id: TaskId) -> Result<ExitCode, Failure> {
    let party = party(app, "task release")?;
    let task = app.store.team(&party.team).release(&id, &party.actor())?;
    let list = app.store.team(&party.team).tasks()?;
    if app.out.json {
        show(app, &party, &task)?;
    } else {
        let state = list.state(&task).name();
        app.out
            .data(&format!("#{id} is {state} and has no owner"))?;
    }
    if list.state(&task) == TaskState::Pending {
        tell::free(app, &party, &[task])?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(app: &App, party: &Party, task: &Task) -> Result<(), Failure> {
    let list = app.store.team(&party.team).tasks()?;
    app.out.json(&record::record(task, &list)?)
}

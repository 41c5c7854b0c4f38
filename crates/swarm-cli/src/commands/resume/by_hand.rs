//! Manual takeover of a team.

use futures::future::join_all;
use swarm_permissions::same_agent_type;
use swarm_protocol::{Event, PERSON, TeamConfig, TeamName};
use swarm_store::BlockOn as _;
use swarm_supervisor::{DeadMember, Handover, Restored, handover};
use tokio_util::sync::CancellationToken;

use super::headless::ResumeArgs;
use super::report;
use crate::agent_config;
use crate::app::App;
use crate::commands::{run_cancellable, runtime};
use crate::failure::{Failure, Result};
use crate::spawn_context::{Choices, for_stopping, former_backend, spawn_context};

/// Parked members continue as soon as the roster names no lead.
pub(super) fn run(app: &App, args: &ResumeArgs, config: &TeamConfig) -> Result<()> {
    let team = &config.name;
    let spawn_context = for_stopping(app);
    runtime()?.block_on(spawn_context.team(team).clean_up_after_lead())?;
    if let Some(lost) = &config.lead_process {
        app.store.team(team).clear_lost_lead(lost).block_on()?;
        let taken = Event::LeadTaken {
            by: PERSON.to_owned(),
            pid: None,
        };
        app.store.team(team).journal(taken).block_on()?;
    }
    let mut found = handover(&*app.store.team(team))?;
    let mut failures = Vec::new();
    let mut back = Vec::new();
    if args.respawn {
        let dead = std::mem::take(&mut found.dead).into_iter();
        let (stopped, dead) = dead.partition(|dead| dead.stopped_by_person);
        found.dead = stopped;
        for (mut dead, result) in bring_all_back(app, args, team, dead)? {
            match result {
                Ok(restored) => {
                    dead.tasks = restored.tasks;
                    back.push((dead, restored.spawned));
                }
                Err(failure) => {
                    failures.push(failure);
                    found.dead.push(dead);
                }
            }
        }
        refresh(app, team, &mut found)?;
    }
    report::show(app, config, &found, &back)?;
    Failure::worst(failures).map_or(Ok(()), Err)
}

/// Reads the current state of everything except dead members.
fn refresh(app: &App, team: &TeamName, found: &mut Handover) -> Result<()> {
    let dead = std::mem::take(&mut found.dead);
    *found = handover(&*app.store.team(team))?;
    found.dead = dead;
    Ok(())
}

type BroughtBack = (DeadMember, Result<Restored>);

fn bring_all_back(
    app: &App,
    args: &ResumeArgs,
    team: &TeamName,
    dead: Vec<DeadMember>,
) -> Result<Vec<BroughtBack>> {
    let choices = Choices {
        backend: args.backend.clone(),
        requests: args.requests.clone(),
        ..Choices::default()
    };
    let prepared = spawn_context(app, &app.acting()?, &choices)?;
    let found = &prepared.definitions;
    for definition in found.catalog.winners() {
        let is_used = |one: &DeadMember| {
            let agent_type = one.member.agent_type.as_deref();
            agent_type.is_some_and(|name| same_agent_type(name, &definition.name))
        };
        if dead.iter().any(is_used) {
            agent_config::warn_of(app, found, definition);
        }
    }
    let cancel = CancellationToken::new();
    let spawns = dead.iter().map(|one| {
        let (prepared, cancel) = (&prepared, cancel.clone());
        async move {
            let mut spawn_context = prepared.for_return_of(&one.member)?;
            if args.backend.is_none()
                && let Some(former) = former_backend(app, &one.member)?
            {
                spawn_context.backend = former;
            }
            Ok(spawn_context.team(team).bring_back(one, cancel).await?)
        }
    });
    let results = run_cancellable(runtime()?, cancel.clone(), join_all(spawns));
    Ok(dead.into_iter().zip(results).collect())
}

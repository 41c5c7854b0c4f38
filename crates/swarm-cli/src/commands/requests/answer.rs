//! Answering a request.

use std::process::ExitCode;

use swarm_protocol::{ErrorKind, Event, RequestId, RequestRecord, TeamName};
use swarm_store::StoreError;

use super::text::what;
use crate::app::App;
use crate::args::{ApproveArgs, DenyArgs};
use crate::commands::acting::require_person;
use crate::failure::Failure;

pub(in crate::commands) fn approve(app: &App, args: &ApproveArgs) -> Result<ExitCode, Failure> {
    require_person(app, "approve")?;
    let team = app.team()?;
    let id = RequestId::new(&args.id);
    let answered = swarm_team::approve(&*app.store, &team, &id, args.always);
    let record = answered.map_err(|error| explained(app, &team, error))?;
    let more = if args.always {
        ", and like calls for the rest of its session"
    } else {
        ""
    };
    show(app, &record, &format!("may make this call{more}"))
}

pub(in crate::commands) fn deny(app: &App, args: DenyArgs) -> Result<ExitCode, Failure> {
    require_person(app, "deny")?;
    let team = app.team()?;
    let id = RequestId::new(args.id);
    let answered = swarm_team::deny(&*app.store, &team, &id, args.why);
    let record = answered.map_err(|error| explained(app, &team, error))?;
    show(app, &record, "may not make this call")
}

/// A request whose answer was heard is no longer on file, but it was answered all the same.
fn explained(app: &App, team: &TeamName, error: StoreError) -> Failure {
    if let StoreError::RequestNotFound { id, .. } = &error
        && let Some(answer) = earlier_answer(app, team, id)
    {
        let message = format!("request `{id}` is already {answer}");
        return Failure::new(ErrorKind::Conflict, message)
            .with_hint("`swarm requests` shows those that still wait");
    }
    error.into()
}

fn earlier_answer(app: &App, team: &TeamName, id: &RequestId) -> Option<String> {
    let events = app.store.events(team).ok()?;
    events
        .entries
        .into_iter()
        .find_map(|entry| match entry.event {
            Event::RequestAnswered { request, answer } if &request == id => Some(answer),
            _ => None,
        })
}

fn show(app: &App, record: &RequestRecord, verdict: &str) -> Result<ExitCode, Failure> {
    if app.out.json {
        app.out.json(record)?;
    } else {
        let line = format!("{} {verdict}: {}", record.from, what(record));
        app.out.data(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}

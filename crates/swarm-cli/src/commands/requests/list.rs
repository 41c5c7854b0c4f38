//! `swarm requests`: the pending requests.

use std::process::ExitCode;

use swarm_protocol::{RequestRecord, RequestState};
use swarm_store::blocking::Team;
use swarm_supervisor::{LeadStanding, lead_standing};

use super::text;
use crate::app::App;
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    let files = app.store.team(&team);
    adopt(app, &*files)?;
    let list = files.requests()?;
    let open: Vec<RequestRecord> = list.requests.into_iter().filter(is_open).collect();
    if app.out.json {
        app.out.json(&open)?;
    } else if open.is_empty() {
        app.out.say("no pending requests");
    } else {
        let now = app.clock.now();
        let blocks: Vec<String> = open
            .iter()
            .map(|request| text::in_full(request, now))
            .collect();
        app.out.data(&blocks.join("\n\n"))?;
    }
    app.out.left_out(&list.broken);
    Ok(ExitCode::SUCCESS)
}

/// Adds requests of other programs' members to the queue if no lead process does.
pub(super) fn adopt(app: &App, team: &dyn Team) -> Result<(), Failure> {
    if !team.is_foreign() && lead_standing(&*app.store, &team.config()?)? == LeadStanding::ByHand {
        swarm_team::adopt_requests(team, app.clock.now())?;
    }
    Ok(())
}

/// Returns whether a request is pending.
pub(in crate::commands) fn is_open(request: &RequestRecord) -> bool {
    request.state == RequestState::Open
}

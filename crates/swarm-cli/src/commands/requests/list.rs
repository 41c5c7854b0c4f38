//! The queue of requests.

use std::process::ExitCode;

use swarm_protocol::{RequestRecord, RequestState};

use super::text;
use crate::app::App;
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App) -> Result<ExitCode, Failure> {
    let team = app.team()?;
    let list = app.store.team(&team).requests()?;
    let open: Vec<RequestRecord> = list.requests.into_iter().filter(is_open).collect();
    if app.out.json {
        app.out.json(&open)?;
    } else if open.is_empty() {
        app.out.say("no request waits for an answer");
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

/// Whether a request still waits.
pub(in crate::commands) fn is_open(request: &RequestRecord) -> bool {
    request.state == RequestState::Open
}

//! Pending requests of several teams.

use swarm_protocol::{RequestRecord, RequestState, TeamName};
use swarm_store::{BlockOn as _, StoreError, Team};

use crate::app::App;

pub(in crate::commands) fn is_open(request: &RequestRecord) -> bool {
    request.state == RequestState::Open
}

pub(in crate::commands) fn pending(team: &dyn Team) -> Result<Vec<RequestRecord>, StoreError> {
    let mut requests = team.requests().block_on()?.requests;
    requests.retain(is_open);
    Ok(requests)
}

/// Returns the members that wait for an answer, each once, in the order of their requests.
pub(in crate::commands) fn who_waits(requests: &[RequestRecord]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for request in requests {
        if !names.contains(&request.from.as_str()) {
            names.push(request.from.as_str());
        }
    }
    names
}

/// Returns a notice about members of other teams that wait for an answer. Teams that cannot be read
/// are left out; `swarm requests --all` reports them.
pub(in crate::commands) fn waiting_elsewhere(app: &App, others: &[TeamName]) -> Option<String> {
    let mut waiting = Vec::new();
    for other in others {
        let Ok(requests) = pending(&*app.store.team(other)) else {
            continue;
        };
        let names = who_waits(&requests);
        if !names.is_empty() {
            waiting.push(format!("{} of {other}", names.join(", ")));
        }
    }
    (!waiting.is_empty()).then(|| {
        format!(
            "also waiting for an answer: {} (`swarm requests --all`)",
            waiting.join("; ")
        )
    })
}

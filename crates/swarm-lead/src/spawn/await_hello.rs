//! Waiting for the child's hello, its early end, or the deadline: whichever comes first.

use std::time::Duration;

use swarm_fs::{NameFilter, Subscription};
use swarm_panes::{Pane, PaneBackend, PaneStatus};
use swarm_protocol::{Hello, MemberName, SpawnId, TeamName};
use tokio_util::sync::CancellationToken;

use crate::{Deployment, LeadError};

/// Lines of a failed child's output that are kept for the report.
const LAST_LINES: usize = 20;

pub(super) fn watch_hello(
    deployment: &Deployment,
    team: &TeamName,
    name: &MemberName,
) -> Subscription {
    let folder = deployment.store.member_dir(team, name);
    deployment
        .watcher
        .subscribe(&folder, NameFilter::Exact(vec!["hello.json".into()]))
}

pub(super) struct Expected<'a> {
    pub(super) team: &'a TeamName,
    pub(super) name: &'a MemberName,
    pub(super) spawn_id: SpawnId,
    pub(super) timeout: Duration,
    pub(super) cancel: &'a CancellationToken,
}

pub(super) async fn await_hello(
    deployment: &Deployment,
    backend: &dyn PaneBackend,
    pane: &Pane,
    expected: &Expected<'_>,
    hello: &mut Subscription,
) -> Result<Hello, LeadError> {
    let deadline = tokio::time::sleep(expected.timeout);
    let ended = backend.exited(pane);
    tokio::pin!(deadline, ended);
    loop {
        let said = deployment.store.hello(expected.team, expected.name)?;
        if let Some(said) = said.filter(|said| said.spawn_id == expected.spawn_id) {
            return Ok(said);
        }
        tokio::select! {
            () = hello.changed() => {}
            status = &mut ended => {
                return Err(LeadError::EarlyExit {
                    member: expected.name.clone(),
                    how: describe(&status?),
                    output: last_lines(backend, pane).await,
                });
            }
            () = &mut deadline => {
                return Err(LeadError::NoHello {
                    member: expected.name.clone(),
                    waited: expected.timeout,
                    output: last_lines(backend, pane).await,
                });
            }
            () = expected.cancel.cancelled() => {
                return Err(LeadError::Interrupted(expected.name.clone()));
            }
        }
    }
}

async fn last_lines(backend: &dyn PaneBackend, pane: &Pane) -> String {
    // The pane may be gone with its process; then there is nothing to show.
    backend
        .capture(pane, Some(LAST_LINES), false)
        .await
        .unwrap_or_default()
}

/// How a pane's process ended, in words.
pub(crate) fn describe(status: &PaneStatus) -> String {
    match status {
        PaneStatus::Dead {
            signal: Some(signal),
            ..
        } => format!("signal {signal}"),
        PaneStatus::Dead {
            code: Some(code), ..
        } => format!("exit status {code}"),
        PaneStatus::Gone => "its pane is gone".to_owned(),
        _ => "for an unknown reason".to_owned(),
    }
}

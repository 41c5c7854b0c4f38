//! The start of a teammate: life lock, hello, and the wait for the commit. It takes no turn before that.

use std::time::Duration;

use swarm_fs::process::forbid_inspection;
use swarm_fs::{FolderWatcher, LifeHolder, NameFilter};
use swarm_protocol::{DefinitionReport, Hello, LifeKind, LifeRecord, Member, UnixMs};
use swarm_store::{StoreError, TeamStore};
use swarm_team::SpawnOrder;

use crate::teammate::{ProcessFacts, TeammateError};

/// How much longer than its spawner a child waits for the commit, so that the spawner decides first.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes the life lock of this member and protects its process from inspection by others of the same user.
pub(crate) fn take_life(
    store: &dyn TeamStore,
    order: &SpawnOrder,
    process: &ProcessFacts,
) -> Result<LifeHolder, TeammateError> {
    let record = LifeRecord {
        kind: LifeKind::Process,
        pid: process.pid,
        proc_start: process.start.clone(),
        spawn_id: order.spawn_id,
        host: process.host.clone(),
        pid_space: process.pid_space.clone(),
    };
    // Ids, numbers and strings always serialize.
    let content = serde_json::to_vec(&record).unwrap_or_default();
    let taken = store.take_life(&order.agent.team, &order.agent.name, &content);
    let life = taken.map_err(|error| match error {
        StoreError::Fs(error) => TeammateError::Life(error),
        error => error.into(),
    })?;
    // Not before: until then only the mark in its environment identifies this process.
    forbid_inspection();
    Ok(life)
}

/// What this process reports as in force.
pub(crate) fn hello(
    order: &SpawnOrder,
    process: &ProcessFacts,
    tools: Vec<String>,
    definition: Option<DefinitionReport>,
) -> Hello {
    Hello {
        spawn_id: order.spawn_id,
        pid: process.pid,
        proc_start: process.start.clone(),
        pane: process.pane.clone(),
        cwd: process.cwd.clone(),
        worktree: process.worktree.clone(),
        model: order.model.clone(),
        mode: order.mode,
        tools,
        session_id: order.session_id,
        version: process.version.clone(),
        definition,
    }
}

/// Waits until the roster has this spawn as committed. `None` if it was cancelled.
pub(crate) async fn await_commit(
    store: &dyn TeamStore,
    watcher: &FolderWatcher,
    order: &SpawnOrder,
    now: UnixMs,
) -> Result<Option<Member>, TeammateError> {
    let team = &order.agent.team;
    let filter = NameFilter::Exact(vec!["config.json".into()]);
    let mut roster = watcher.subscribe(&store.team_folder(team), filter);
    let wait = Duration::from_millis(order.deadline.since(now)) + PATIENCE;
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        let config = match store.config(team) {
            Ok(config) => config,
            Err(StoreError::TeamNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let member = config.member(&order.agent.name);
        let Some(member) = member.filter(|member| member.spawn_id() == Some(order.spawn_id)) else {
            return Ok(None);
        };
        let committed = member
            .swarm
            .as_ref()
            .is_some_and(|swarm| swarm.reservation.is_none());
        if committed {
            return Ok(Some(member.clone()));
        }
        tokio::select! {
            () = roster.changed() => {}
            () = tokio::time::sleep_until(deadline) => return Ok(None),
        }
    }
}

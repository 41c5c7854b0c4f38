//! The worktree of a member that is to have one of its own.

use std::path::Path;

use swarm_permissions::Isolation;
use swarm_protocol::{Member, SpawnId, TeamName};
use swarm_worktree::{Created, Owner, ProcessMark, Request, Slug, WorktreeError};

use super::{SpawnOptions, WorktreeWish};
use crate::{LeadError, SpawnContext};

/// Makes the worktree that was asked for, or takes up the one that the member had. The options then name the directory in
/// it. A member that had one and is not told otherwise never works anywhere else.
pub(super) async fn prepare(
    spawn_context: &SpawnContext,
    team: &TeamName,
    options: &mut SpawnOptions,
    former: Option<&Member>,
    spawn_id: SpawnId,
) -> Result<Option<Created>, LeadError> {
    let by_definition = || {
        let named = options.agent_type.as_deref()?;
        let definition = spawn_context.agent_config.agents.find(named)?;
        (definition.isolation == Some(Isolation::Worktree)).then(WorktreeWish::default)
    };
    let had = former.and_then(|former| former.worktree_path.clone());
    let goes_on = had.filter(|had| options.worktree.is_none() && options.cwd.starts_with(had));
    let (wish, from) = match (&options.worktree, goes_on) {
        (Some(wish), _) => (wish.clone(), outside(spawn_context, &options.cwd).await),
        (None, Some(had)) => {
            let gone = || LeadError::WorktreeGone {
                member: options.name.clone(),
                path: had.clone(),
            };
            let found = find(spawn_context, &had).await.ok_or_else(gone)?;
            let wish = WorktreeWish {
                slug: Some(found.slug),
                uncommitted: None,
            };
            (wish, found.from)
        }
        (None, None) => match by_definition() {
            Some(wish) => (wish, outside(spawn_context, &options.cwd).await),
            None => return Ok(None),
        },
    };
    let failed = |error| match error {
        WorktreeError::Interrupted { .. } => LeadError::Interrupted(options.name.clone()),
        error => LeadError::Worktree {
            member: options.name.clone(),
            error,
        },
    };
    let slug = match wish.slug {
        Some(slug) => slug,
        None => Slug::parse(options.name.as_str()).map_err(|error| failed(error.into()))?,
    };
    let request = Request {
        from,
        slug,
        owner: Owner {
            team: Some(team.clone()),
            member: Some(options.name.clone()),
            agent: None,
            spawn_id: Some(spawn_id),
            life: Some(spawn_context.store.team(team).life_path(&options.name)),
        },
        process: ProcessMark {
            pid: spawn_context.process.pid,
            start: spawn_context.process.start.clone(),
        },
        uncommitted: wish.uncommitted,
        now: spawn_context.clock.now(),
        cancel: options.cancel.clone(),
    };
    let worktrees = spawn_context.worktrees.clone();
    let created = blocking(move || worktrees.create(&request)).await;
    let created = created.map_err(failed)?;
    options.cwd.clone_from(&created.cwd);
    Ok(Some(created))
}

/// The directory from which a new worktree is made: of a member that asks from inside its old one, where that came from.
async fn outside(spawn_context: &SpawnContext, cwd: &Path) -> std::path::PathBuf {
    match find(spawn_context, cwd).await {
        Some(record) if !cwd.is_dir() => record.from,
        _ => cwd.to_owned(),
    }
}

async fn find(spawn_context: &SpawnContext, path: &Path) -> Option<swarm_worktree::Record> {
    let (worktrees, path) = (spawn_context.worktrees.clone(), path.to_owned());
    let found = blocking(move || worktrees.find(&path)).await;
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "worktree not found");
        None
    })
}

/// From now on the member's life lock tells whether its worktree is in use.
pub(super) async fn settle(spawn_context: &SpawnContext, created: &Created) {
    let (worktrees, created) = (spawn_context.worktrees.clone(), created.clone());
    if let Err(error) = blocking(move || worktrees.rely_on_life_lock(&created)).await {
        // It counts as in use for as long as this process lives.
        tracing::warn!(%error, "worktree not handed over");
    }
}

/// Takes back the worktree of a spawn that came to nothing.
pub(super) async fn undo(spawn_context: &SpawnContext, created: &Created) {
    let (worktrees, undone) = (spawn_context.worktrees.clone(), created.clone());
    if let Err(error) = blocking(move || worktrees.undo(&undone)).await {
        tracing::error!(slug = %created.record.slug, %error, "worktree of a failed spawn is left");
    }
}

/// Git takes its time, and others wait for nothing meanwhile.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, WorktreeError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(WorktreeError::BrokeDown(error.to_string())),
    }
}

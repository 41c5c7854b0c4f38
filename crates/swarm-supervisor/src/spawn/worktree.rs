//! The separate worktree of a member.

use std::path::Path;

use swarm_permissions::Isolation;
use swarm_protocol::{ErrorKind, Member, SpawnId};
use swarm_worktree::{Created, Owner, Request, Slug, Uncommitted, WorktreeError};

use super::{SpawnOptions, WorktreeWish};
use crate::{LeadError, SpawnContext, SpawnError, SupervisedTeam};

/// Creates the requested worktree, or reuses an existing one, and sets the working directory in the
/// options.
pub(super) async fn prepare(
    team: SupervisedTeam<'_>,
    options: &mut SpawnOptions,
    spawn_id: SpawnId,
) -> Result<Option<Created>, LeadError> {
    let by_definition = || {
        let named = options.member.agent_type.as_deref()?;
        let definition = team.context.definition.config.agents.find(named)?;
        (definition.isolation == Some(Isolation::Worktree)).then(WorktreeWish::default)
    };
    let wish = options.worktree.clone().or_else(by_definition);
    let Some(wish) = wish else {
        return Ok(None);
    };
    let from = outside(team.context, &options.cwd).await;
    let failed = |error| {
        let why = match error {
            WorktreeError::Interrupted(_) => SpawnError::Interrupted,
            error => SpawnError::Worktree(error),
        };
        why.of(&options.name)
    };
    let slug = match wish.slug {
        Some(slug) => slug,
        None => Slug::parse(options.name.as_str()).map_err(|error| failed(error.into()))?,
    };
    let request = Request {
        from,
        slug,
        owner: Owner {
            team: Some(team.name.clone()),
            member: Some(options.name.clone()),
            agent: None,
            spawn_id: Some(spawn_id),
        },
        process: team.context.process.mark(),
        uncommitted: wish.uncommitted,
        now: team.context.clock.now(),
        cancel: options.cancel.clone(),
    };
    let worktrees = team.context.worktrees.clone();
    let created = blocking(move || worktrees.create(&request)).await;
    let created = created.map_err(failed)?;
    options.cwd.clone_from(&created.cwd);
    Ok(Some(created))
}

/// Requests the former worktree of a member, if it works there: by name, before a running member is
/// replaced, because a worktree without changes is removed when its member stops. A member that had
/// a worktree never works elsewhere unless requested.
///
/// # Errors
/// [`SpawnError::WorktreeGone`].
pub(super) async fn request_former(
    context: &SpawnContext,
    options: &mut SpawnOptions,
    former: Option<&Member>,
) -> Result<(), LeadError> {
    let had = former.and_then(|former| former.worktree_path.as_ref());
    let had = had.filter(|had| options.worktree.is_none() && options.cwd.starts_with(had));
    let Some(had) = had else {
        return Ok(());
    };
    let gone = || SpawnError::WorktreeGone(had.clone()).of(&options.name);
    let found = find(context, had).await.ok_or_else(gone)?;
    options.worktree = Some(WorktreeWish {
        slug: Some(found.slug),
        // The former one did not have them either.
        uncommitted: Some(Uncommitted::Leave),
    });
    options.cwd = found.from;
    Ok(())
}

/// Returns the directory from which a new worktree is created: for a member inside its old
/// worktree, the origin of that.
async fn outside(context: &SpawnContext, cwd: &Path) -> std::path::PathBuf {
    match find(context, cwd).await {
        Some(record) if !cwd.is_dir() => record.from,
        _ => cwd.to_owned(),
    }
}

async fn find(context: &SpawnContext, path: &Path) -> Option<swarm_worktree::Record> {
    let (worktrees, path) = (context.worktrees.clone(), path.to_owned());
    let found = blocking(move || worktrees.find(&path)).await;
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "worktree not found");
        None
    })
}

/// From now on the member's life lock determines whether its worktree is in use.
pub(super) async fn settle(context: &SpawnContext, created: &Created) {
    let (worktrees, created) = (context.worktrees.clone(), created.clone());
    if let Err(error) = blocking(move || worktrees.rely_on_life_lock(&created)).await {
        // Until then it counts as in use while this process runs.
        tracing::warn!(%error, "worktree not handed over");
    }
}

/// Removes the worktree of a failed spawn.
pub(super) async fn undo(context: &SpawnContext, created: &Created) {
    let (worktrees, undone) = (context.worktrees.clone(), created.clone());
    if let Err(error) = blocking(move || worktrees.undo(&undone)).await {
        tracing::error!(slug = %created.record.slug, %error, "worktree of a failed spawn is left");
    }
}

/// Runs git on a blocking thread, because it may take long.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, WorktreeError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(WorktreeError::Failed(
            ErrorKind::Internal,
            format!("an operation on a worktree failed unexpectedly: {error}"),
        )),
    }
}

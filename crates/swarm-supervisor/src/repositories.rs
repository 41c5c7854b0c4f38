//! Repositories of members on nodes: sent through the hub of the team, and received there.

use std::path::Path;

use swarm_protocol::Repository;
use swarm_store::{StoreError, StoreLimits, Team};
use swarm_worktree::{ReceivedRepository, WorktreeError, Worktrees};

use crate::spawn::blocking;

/// Why a repository was not sent or received, or work was not published.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// The repository or git.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// The team.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Sends the commit that is checked out in a directory to a machine that has the `known` commits. Returns
/// `None` outside of repositories. Call [`forget_repository`] if it is not received.
///
/// # Errors
/// [`RepositoryError`], for example if there are uncommitted changes.
pub(crate) async fn send_repository(
    team: &dyn Team,
    worktrees: &Worktrees,
    directory: &Path,
    known: &[String],
) -> Result<Option<Repository>, RepositoryError> {
    let (worktrees, directory) = (worktrees.clone(), directory.to_owned());
    let (known, limit) = (known.to_owned(), StoreLimits::default().max_blob_bytes);
    let exported = blocking(move || worktrees.export(&directory, &known, limit)).await?;
    let Some(exported) = exported else {
        return Ok(None);
    };
    let mut repository = exported.repository;
    if let Some(bundle) = exported.bundle {
        repository.bundle = Some(team.put_blob(bundle).await?);
    }
    Ok(Some(repository))
}

/// Receives a repository below the directory `own` of this machine, and deletes what was sent. `here` is
/// another checkout on this machine that may have its commits.
///
/// # Errors
/// [`RepositoryError`]. What was sent remains then.
pub async fn receive_repository(
    team: &dyn Team,
    worktrees: &Worktrees,
    own: &Path,
    repository: &Repository,
    here: &Path,
) -> Result<ReceivedRepository, RepositoryError> {
    let bundle = match &repository.bundle {
        Some(bundle) => team.blob(bundle).await?,
        None => None,
    };
    let (worktrees, own) = (worktrees.clone(), own.to_owned());
    let (wanted, here) = (repository.clone(), here.to_owned());
    let receive = move || worktrees.receive(&own, &wanted, bundle.as_deref(), &here);
    let received = blocking(receive).await?;
    forget_repository(team, repository).await;
    Ok(received)
}

/// Deletes what was sent of a repository.
pub(crate) async fn forget_repository(team: &dyn Team, repository: &Repository) {
    if let Some(bundle) = &repository.bundle
        && let Err(error) = team.delete_blob(bundle).await
    {
        tracing::warn!(%error, "the bundle of a repository is left");
    }
}

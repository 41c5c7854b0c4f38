//! Fetching the published branches of members on other machines.

use std::path::Path;

use swarm_protocol::PublishedBranch;
use swarm_store::{StoreError, Team};
use swarm_worktree::{Wanted, WorktreeError, Worktrees};

use crate::spawn::blocking;

/// A published branch that was not fetched.
#[derive(Debug)]
pub struct NotFetched {
    /// What was published.
    pub branch: PublishedBranch,
    /// The reason.
    pub why: WorktreeError,
}

/// Fetches the published branches of a team into the repository of a directory. Branches that were
/// merged and forgotten are not fetched again. Returns those that cannot be fetched.
///
/// # Errors
/// [`StoreError`] if the team cannot be read.
pub async fn fetch_published(
    team: &dyn Team,
    worktrees: &Worktrees,
    directory: &Path,
) -> Result<Vec<NotFetched>, StoreError> {
    let mut failed = Vec::new();
    for mut branch in team.published_branches().await? {
        // Its bundle may have been replaced meanwhile.
        let why = loop {
            match fetch_one(team, worktrees, directory, &branch).await? {
                Ok(()) => break None,
                Err(Some(why)) => break Some(why),
                Err(None) => {}
            }
            let now = team.published_branches().await?.into_iter();
            match now.clone().find(|now| now.member == branch.member) {
                Some(newer) if newer.bundle != branch.bundle => branch = newer,
                _ => {
                    let why = "its commits are missing on the hub; it publishes them with its next commit";
                    break Some(WorktreeError::not_fetched(&branch, team.name(), why));
                }
            }
        };
        failed.extend(why.map(|why| NotFetched { branch, why }));
    }
    Ok(failed)
}

/// Fetches a branch; `Err(None)` if its commits are not on the hub.
async fn fetch_one(
    team: &dyn Team,
    worktrees: &Worktrees,
    directory: &Path,
    branch: &PublishedBranch,
) -> Result<Result<(), Option<WorktreeError>>, StoreError> {
    let (name, all) = (team.name().clone(), worktrees.clone());
    let (from, wanted) = (directory.to_owned(), branch.clone());
    let wanted = blocking(move || all.wants(&from, &name, &wanted)).await;
    let bundle = match wanted {
        Ok(Wanted::Nothing) => return Ok(Ok(())),
        Ok(Wanted::Record) => None,
        Ok(Wanted::Bundle) => {
            let bundle = match &branch.bundle {
                Some(bundle) => team.blob(bundle).await?,
                None => None,
            };
            if bundle.is_none() {
                return Ok(Err(None));
            }
            bundle
        }
        Err(why) => return Ok(Err(Some(why))),
    };
    let (name, all) = (team.name().clone(), worktrees.clone());
    let (from, branch) = (directory.to_owned(), branch.clone());
    let fetched = blocking(move || all.fetch(&from, &name, &branch, bundle.as_deref())).await;
    Ok(fetched.map(drop).map_err(Some))
}

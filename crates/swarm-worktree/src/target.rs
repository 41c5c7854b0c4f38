//! The checkout of a target branch, whose files a merge updates.

use std::path::{Path, PathBuf};

use crate::heads::look_at;
use crate::registration;
use crate::repository::Repository;
use crate::view::Checkout;
use crate::{Record, Result, WorktreeError};

/// Returns the checkout of the target of a worktree, if there is one. Its files can be updated:
/// uncommitted changes are an error.
pub(crate) fn clean_checkout<'a>(
    repository: &'a Repository,
    record: &Record,
    target: &str,
) -> Result<Option<(PathBuf, Checkout<'a>)>> {
    let registered = repository.registered()?;
    let checkout = registered
        .into_iter()
        .find(|known| known.branch.as_deref() == Some(target) && known.path.is_dir());
    let Some(checkout) = checkout else {
        return Ok(None);
    };
    // For the main checkout of a submodule, git lists its git directory.
    let path = match &repository.main {
        Some(main) if checkout.path == repository.common => main.clone(),
        _ => checkout.path,
    };
    refuse_forged(repository, record, target, &path)?;
    let checkout = Checkout::at(repository, &path)?;
    let changed = checkout.changed_files("--untracked-files=no")?;
    if changed.is_empty() {
        return Ok(Some((path, checkout)));
    }
    Err(WorktreeError::TargetChanged {
        branch: record.branch.clone(),
        target: target.to_owned(),
        checkout: path,
        files: changed,
    })
}

/// Refuses a forged checkout that git lists because an agent has manipulated the git directory of
/// its worktree.
fn refuse_forged(
    repository: &Repository,
    record: &Record,
    target: &str,
    path: &Path,
) -> Result<()> {
    if repository.main.as_deref() == Some(path) || repository.recorded_at(path)?.is_some() {
        return Ok(());
    }
    let (records, _) = Record::all(repository)?;
    let is_ours = |admin: &Path| {
        let mut own = records
            .iter()
            .filter_map(|record| registration::admin(repository, record));
        own.any(|own| own == admin)
    };
    let is_theirs = look_at(path).is_some_and(|seen| {
        seen.common_dir == repository.common
            && (seen.git_dir == seen.common_dir
                || (!is_ours(&seen.git_dir)
                    && registration::leads_back(&seen.git_dir, &seen.toplevel)))
    });
    if is_theirs {
        return Ok(());
    }
    let why = format!(
        "git lists {} as a checkout of {target}, but it is not; check `git worktree list`",
        path.display()
    );
    Err(WorktreeError::not_merged(&record.branch, why))
}

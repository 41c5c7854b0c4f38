//! Waits until the checkout of a merge's target has no uncommitted changes.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use futures::future::select_all;
use swarm_os::{DirectoryWatcher, NameFilter, Subscription};
use swarm_worktree::{Slug, WorktreeError, Worktrees, seen};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::spawn::blocking;

/// Limit of watched directories. Changes in others are noticed at the next sweep.
const WATCHED: usize = 32;

/// Waits until the checkout of a worktree's target has no uncommitted changes, for at most `within`.
/// `directory` is in the repository of the worktree.
///
/// # Errors
/// [`WorktreeError::TargetChanged`] if the checkout still has uncommitted changes after that time,
/// or when `cancel` fires.
pub async fn wait_for_target(
    worktrees: &Worktrees,
    directory: &Path,
    slug: &Slug,
    within: Duration,
    cancel: &CancellationToken,
) -> Result<(), WorktreeError> {
    let watcher = DirectoryWatcher::in_runtime(&Handle::current());
    let until = Instant::now() + within;
    let mut watch = TargetWatch::default();
    loop {
        let (all, from, slug) = (worktrees.clone(), directory.to_owned(), slug.clone());
        let checked = blocking(move || all.require_clean_target(&from, &slug)).await;
        let Err(error) = checked else {
            return Ok(());
        };
        let WorktreeError::TargetChanged {
            checkout, files, ..
        } = &error
        else {
            return Err(error);
        };
        if Instant::now() >= until || cancel.is_cancelled() {
            return Err(error);
        }
        if watch.files != *files {
            watch = TargetWatch::of(&watcher, checkout, files);
            // The files are read again after the subscription, so that no change is missed.
            continue;
        }
        tokio::select! {
            () = watch.changed() => {}
            () = sleep_until(until) => {}
            () = cancel.cancelled() => {}
        }
    }
}

/// Subscriptions to the changed files of a checkout.
#[derive(Debug, Default)]
struct TargetWatch {
    files: Vec<String>,
    subscriptions: Vec<Subscription>,
}

impl TargetWatch {
    fn of(watcher: &DirectoryWatcher, checkout: &Path, files: &[String]) -> Self {
        let parent = |file: &String| {
            let path = checkout.join(file);
            path.parent().unwrap_or(checkout).to_owned()
        };
        let directories: BTreeSet<_> = files.iter().map(parent).collect();
        let some = directories.iter().take(WATCHED);
        let mut subscriptions: Vec<_> = some
            .map(|directory| watcher.subscribe(directory, NameFilter::Any))
            .collect();
        // A commit or a stash replaces the index, a switch to another branch also HEAD.
        if let Some(seen) = seen(checkout) {
            let names = NameFilter::Exact(vec!["index".into(), "HEAD".into()]);
            subscriptions.push(watcher.subscribe(&seen.git_dir, names));
        }
        Self {
            files: files.to_vec(),
            subscriptions,
        }
    }

    /// Resolves when a file may have changed.
    async fn changed(&mut self) {
        let changes = self.subscriptions.iter_mut();
        let changes: Vec<_> = changes.map(|one| Box::pin(one.changed())).collect();
        if changes.is_empty() {
            std::future::pending::<()>().await;
        }
        select_all(changes).await;
    }
}

//! Merges the work of members.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use swarm_os::LockInterrupt;
use swarm_team::{MergeError, PreparedMerge, WorkMerger};
use swarm_worktree::{MergeCandidate, MergeMode, WorktreeError, Worktrees};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::spawn::blocking;

/// Merges the branches of worktrees with git, or leaves that to a person if configured.
#[derive(Debug, Clone)]
pub struct WorktreeMerger(pub Worktrees);

#[async_trait]
impl WorkMerger for WorktreeMerger {
    async fn prepare(
        &self,
        worktree: &Path,
        cancel: &CancellationToken,
    ) -> Result<Option<Box<dyn PreparedMerge>>, MergeError> {
        if self.0.settings().merge == MergeMode::Manual {
            return Ok(None);
        }
        let (worktrees, path) = (self.0.clone(), worktree.to_owned());
        let record = blocking(move || worktrees.find(&path)).await;
        let record = record.map_err(|error| refused(&error))?.ok_or_else(|| {
            MergeError::Refused(format!(
                "{} is no longer a swarm worktree, so its work cannot be located; tell the team lead",
                worktree.display()
            ))
        })?;
        // A worktree of a hook is not managed by git, so its branch cannot be merged.
        if record.by_hook {
            return Ok(None);
        }
        let (worktrees, interrupt) = (self.0.clone(), LockInterrupt::default());
        let interrupted = interrupt.clone();
        let mut prepared = Box::pin(blocking(move || {
            let on_wait = || tracing::debug!("waiting for another merge of the repository");
            worktrees.merge_candidate(&record.from, &record.slug, &interrupt, &on_wait)
        }));
        let prepared = tokio::select! {
            prepared = &mut prepared => prepared,
            () = cancel.cancelled() => {
                interrupted.interrupt();
                prepared.await
            }
        };
        let candidate = prepared.map_err(|error| refused(&error))?;
        Ok(Some(Box::new(QueuedMerge(Some(candidate)))))
    }
}

/// The candidate is moved to a blocking thread during its operations, and stays there if one of
/// them is abandoned.
struct QueuedMerge(Option<MergeCandidate>);

impl QueuedMerge {
    fn take(&mut self) -> Result<MergeCandidate, MergeError> {
        let lost = || MergeError::Refused("the merge was interrupted; try again".to_owned());
        self.0.take().ok_or_else(lost)
    }
}

impl Drop for QueuedMerge {
    /// Removes a merge that was not applied on a blocking thread, because it runs git and waits for
    /// a lock.
    fn drop(&mut self) {
        if let Some(candidate) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn_blocking(move || drop(candidate));
        }
    }
}

#[async_trait]
impl PreparedMerge for QueuedMerge {
    async fn check_out(&mut self) -> Result<PathBuf, MergeError> {
        let mut candidate = self.take()?;
        let checked_out = blocking(move || {
            let files = candidate.check_out()?;
            Ok((candidate, files))
        });
        let (candidate, files) = checked_out.await.map_err(|error| refused(&error))?;
        self.0 = Some(candidate);
        Ok(files)
    }

    async fn apply(mut self: Box<Self>) -> Result<(), MergeError> {
        let candidate = self.take()?;
        let applied = blocking(move || candidate.apply()).await;
        let merged = applied.map_err(|error| refused(&error))?;
        let (branch, target) = (merged.branch, merged.target);
        tracing::info!(%branch, %target, outcome = merged.outcome.name(), "merged");
        Ok(())
    }
}

fn refused(error: &WorktreeError) -> MergeError {
    let why = error.to_string();
    match error {
        WorktreeError::TargetMoved { .. } => MergeError::TargetMoved(why),
        WorktreeError::TargetChanged { .. } => MergeError::TargetChanged(why),
        _ => MergeError::Refused(why),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use swarm_os::InheritableLock;
    use swarm_protocol::UnixMs;
    use swarm_worktree::{Git, Owner, ProcessMark, Request, Slug, WorktreeSettings};

    use super::*;

    #[expect(
        clippy::disallowed_methods,
        reason = "git is found on the path of the tests"
    )]
    fn environment() -> BTreeMap<String, String> {
        let path = std::env::var("PATH").unwrap();
        let pairs = [
            ("PATH", path.as_str()),
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
        ];
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    }

    fn git(at: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.args(args).current_dir(at);
        let output = command.env_clear().envs(environment()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {said}");
    }

    #[tokio::test]
    async fn a_dropped_merge_is_removed_without_blocking_the_runtime() {
        let directory = tempfile::tempdir().unwrap();
        let repo = directory.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir(&repo).unwrap();
        git(&repo, &["init", "-q", "-b", "main"]);
        let commit =
            |at: &Path, message| git(at, &["commit", "-q", "--allow-empty", "-m", message]);
        commit(&repo, "start");
        let worktrees = Worktrees::new(
            Git::new("git", environment()),
            WorktreeSettings::default(),
            directory.path().join("own"),
        );
        let slug = Slug::parse("a").unwrap();
        let request = Request {
            from: repo.clone(),
            slug: slug.clone(),
            owner: Owner::default(),
            process: ProcessMark {
                pid: std::process::id(),
                start: "1".to_owned(),
            },
            uncommitted: None,
            now: UnixMs(1_700_000_000_000),
            cancel: CancellationToken::new(),
        };
        let created = worktrees.create(&request).unwrap();
        // The merge is no fast-forward, so it has a scratch checkout.
        commit(&created.record.path, "work");
        commit(&repo, "meanwhile");
        let candidate = || {
            let (worktrees, repo, slug) = (worktrees.clone(), repo.clone(), slug.clone());
            blocking(move || {
                worktrees.merge_candidate(&repo, &slug, &LockInterrupt::default(), &|| ())
            })
        };
        let mut merge = QueuedMerge(Some(candidate().await.unwrap()));
        let scratch = merge.check_out().await.unwrap();
        assert_ne!(scratch, created.record.path);
        // The removal waits for this lock.
        let lock = repo.join(".git/swarm/lock");
        let lock = InheritableLock::take(&lock, Duration::from_mins(1)).unwrap();
        let began = Instant::now();
        drop(merge);
        assert!(began.elapsed() < Duration::from_mins(1));
        assert!(scratch.exists());
        drop(lock);
        // The next merge waits for the removal.
        candidate().await.unwrap();
        assert!(!scratch.exists());
    }
}

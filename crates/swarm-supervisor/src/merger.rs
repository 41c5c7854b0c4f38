//! Merges the work of members.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use swarm_os::LockInterrupt;
use swarm_protocol::TaskId;
use swarm_team::{MergeError, PreparedMerge, WorkMerger};
use swarm_worktree::{MergeCandidate, MergeMode, Record, WorktreeError, Worktrees};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::spawn::blocking;
use crate::target_wait::wait_for_target;

/// Merges the branches of worktrees with git, or leaves that to a person if configured.
#[derive(Debug, Clone)]
pub struct WorktreeMerger(pub Worktrees);

#[async_trait]
impl WorkMerger for WorktreeMerger {
    async fn prepare(
        &self,
        worktree: &Path,
        _task: TaskId,
        cancel: &CancellationToken,
    ) -> Result<Option<Box<dyn PreparedMerge>>, MergeError> {
        if self.0.settings().merge == MergeMode::Manual {
            return Ok(None);
        }
        let record = self.record(worktree).await?;
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
        let candidate = prepared.map_err(|error| merge_error(&error))?;
        Ok(Some(Box::new(QueuedMerge(Some(candidate)))))
    }

    fn wait_limit(&self) -> Duration {
        self.0.settings().merge_wait
    }

    async fn wait_for_target(
        &self,
        worktree: &Path,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), MergeError> {
        let record = self.record(worktree).await?;
        wait_for_target(&self.0, &record.from, &record.slug, within, cancel)
            .await
            .map_err(|error| merge_error(&error))
    }
}

impl WorktreeMerger {
    async fn record(&self, worktree: &Path) -> Result<Record, MergeError> {
        let (worktrees, path) = (self.0.clone(), worktree.to_owned());
        let record = blocking(move || worktrees.find(&path)).await;
        record.map_err(|error| merge_error(&error))?.ok_or_else(|| {
            let why = if worktree.exists() {
                "is no longer a swarm worktree, so its work cannot be located; tell the team lead"
            } else {
                "does not exist on this machine; if its member works on another one, let it complete the task, or merge what it has published with `swarm worktree merge` and release the task"
            };
            MergeError::Refused(format!("{} {why}", worktree.display()))
        })
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
        let (candidate, files) = checked_out.await.map_err(|error| merge_error(&error))?;
        self.0 = Some(candidate);
        Ok(files)
    }

    async fn apply(mut self: Box<Self>) -> Result<(), MergeError> {
        let candidate = self.take()?;
        let applied = blocking(move || candidate.apply()).await;
        let merged = applied.map_err(|error| merge_error(&error))?;
        let (branch, target) = (merged.branch, merged.target);
        tracing::info!(%branch, %target, outcome = merged.outcome.name(), "merged");
        Ok(())
    }
}

/// Returns the error of a merge that failed.
pub fn merge_error(error: &WorktreeError) -> MergeError {
    let why = error.to_string();
    match (error, error.awaited()) {
        (WorktreeError::TargetMoved { .. }, _) => MergeError::TargetMoved(why),
        (_, Some(awaited)) => MergeError::TargetChanged { awaited, why },
        _ => MergeError::Refused(why),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;
    use std::time::Instant;

    use swarm_os::{InheritableLock, replace_alone};
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

    /// A repository whose worktree `a` has a commit that is not merged.
    struct Scene {
        _directory: tempfile::TempDir,
        repo: PathBuf,
        worktrees: Worktrees,
        record: Record,
    }

    impl Scene {
        fn new(settings: WorktreeSettings) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let repo = directory.path().canonicalize().unwrap().join("repo");
            std::fs::create_dir(&repo).unwrap();
            git(&repo, &["init", "-q", "-b", "main"]);
            replace_alone(&repo.join("song.txt"), b"one\n").unwrap();
            git(&repo, &["add", "-A"]);
            git(&repo, &["commit", "-q", "-m", "start"]);
            let own = directory.path().join("own");
            let worktrees = Worktrees::new(Git::new("git", environment()), settings, own);
            let request = Request {
                from: repo.clone(),
                slug: Slug::parse("a").unwrap(),
                owner: Owner::default(),
                process: ProcessMark {
                    pid: std::process::id(),
                    start: "1".to_owned(),
                },
                uncommitted: None,
                now: UnixMs(1_700_000_000_000),
                cancel: CancellationToken::new(),
            };
            let record = worktrees.create(&request).unwrap().record;
            empty_commit(&record.path, "work");
            Self {
                _directory: directory,
                repo,
                worktrees,
                record,
            }
        }

        async fn candidate(&self) -> Result<MergeCandidate, WorktreeError> {
            let (worktrees, repo) = (self.worktrees.clone(), self.repo.clone());
            let slug = self.record.slug.clone();
            blocking(move || {
                worktrees.merge_candidate(&repo, &slug, &LockInterrupt::default(), &|| ())
            })
            .await
        }
    }

    fn empty_commit(at: &Path, message: &str) {
        git(at, &["commit", "-q", "--allow-empty", "-m", message]);
    }

    #[tokio::test]
    async fn a_dropped_merge_is_removed_without_blocking_the_runtime() {
        let scene = Scene::new(WorktreeSettings::default());
        // The merge is no fast-forward, so it has a scratch checkout.
        empty_commit(&scene.repo, "meanwhile");
        let mut merge = QueuedMerge(Some(scene.candidate().await.unwrap()));
        let scratch = merge.check_out().await.unwrap();
        assert_ne!(scratch, scene.record.path);
        // The removal waits for this lock.
        let lock = scene.repo.join(".git/swarm/lock");
        let lock = InheritableLock::take(&lock, Duration::from_mins(1)).unwrap();
        let began = Instant::now();
        drop(merge);
        assert!(began.elapsed() < Duration::from_mins(1));
        assert!(scratch.exists());
        drop(lock);
        // The next merge waits for the removal.
        scene.candidate().await.unwrap();
        assert!(!scratch.exists());
    }

    /// Waits as a merge of the scene's worktree does.
    async fn wait_for(scene: &Scene, cancel: &CancellationToken) -> Result<(), MergeError> {
        let merger = WorktreeMerger(scene.worktrees.clone());
        let within = merger.wait_limit();
        merger
            .wait_for_target(&scene.record.path, within, cancel)
            .await
    }

    #[tokio::test]
    async fn a_merge_waits_until_the_checkout_of_its_target_is_clean() {
        let settings = WorktreeSettings {
            merge_wait: Duration::from_hours(1),
            ..WorktreeSettings::default()
        };
        let scene = Scene::new(settings);
        let cancel = CancellationToken::new();
        // It need not wait.
        wait_for(&scene, &cancel).await.unwrap();
        let song = scene.repo.join("song.txt");
        let commit = ["commit", "-q", "-a", "-m", "mine"];
        for (text, clean) in [
            ("two\n", &commit[..]),
            ("three\n", &["checkout", "-q", "song.txt"][..]),
        ] {
            replace_alone(&song, text.as_bytes()).unwrap();
            let mut waiting = Box::pin(wait_for(&scene, &cancel));
            let briefly = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
            assert!(briefly.is_err(), "{briefly:?}");
            git(&scene.repo, clean);
            waiting.await.unwrap();
        }
        replace_alone(&song, b"four\n").unwrap();
        cancel.cancel();
        let refused = wait_for(&scene, &cancel).await.unwrap_err();
        let MergeError::TargetChanged { awaited, why } = refused else {
            panic!("{refused}");
        };
        let repo = scene.repo.display();
        let expected =
            format!("uncommitted changes of song.txt in {repo}, where main is checked out");
        assert_eq!(awaited, expected);
        assert!(why.contains("commit or stash them there"), "{why}");
    }

    #[tokio::test]
    async fn the_wait_for_a_clean_checkout_has_a_limit() {
        let scene = Scene::new(WorktreeSettings::default());
        replace_alone(&scene.repo.join("song.txt"), b"two\n").unwrap();
        let refused = wait_for(&scene, &CancellationToken::new()).await;
        let is_changed = matches!(refused, Err(MergeError::TargetChanged { .. }));
        assert!(is_changed, "{refused:?}");
    }
}

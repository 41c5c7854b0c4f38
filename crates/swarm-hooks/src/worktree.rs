//! Work trees that hooks make and remove in git's place.

use std::path::{Component, Path, PathBuf};

use serde_json::json;
use swarm_policy::HookEvent;
use tokio_util::sync::CancellationToken;

use crate::AgentHooks;

/// A hook was to make a work tree, and there is none.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeHookError {
    /// It failed, or refused.
    #[error("the WorktreeCreate hook made no work tree for `{name}`: {why}")]
    Failed {
        /// The slug.
        name: String,
        /// What it said.
        why: String,
    },
    /// It named a folder that is not used.
    #[error("the WorktreeCreate hook named {path} for `{name}`, {why}")]
    Path {
        /// The slug.
        name: String,
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl AgentHooks {
    /// Lets a hook make the work tree `name`, where there is one for that: `None` means that git does it. The folder is
    /// the last line that is not empty of what the hook prints, or `worktreePath` in its JSON; a relative one starts
    /// from `base`, in which the hook runs. Of several hooks the last names it. Any failure is final.
    ///
    /// # Errors
    /// [`WorktreeHookError`].
    pub async fn create_worktree(
        &self,
        name: &str,
        base: &Path,
        cancel: &CancellationToken,
    ) -> Result<Option<PathBuf>, WorktreeHookError> {
        if !self.any(HookEvent::WorktreeCreate, None) {
            return Ok(None);
        }
        let fields = json!({"name": name});
        let outcome = self
            .fire(HookEvent::WorktreeCreate, None, fields, cancel)
            .await;
        let failed = |why: String| WorktreeHookError::Failed {
            name: name.to_owned(),
            why,
        };
        if let Some(why) = outcome.refusal().or_else(|| outcome.stop.clone()) {
            return Err(failed(why));
        }
        if let Some(why) = outcome.failures.first() {
            return Err(failed(why.clone()));
        }
        if outcome.interrupted {
            return Err(failed("it was interrupted".to_owned()));
        }
        let printed = outcome.printed.iter().rev().find_map(|text| {
            let mut lines = text.lines().rev().map(str::trim);
            lines.find(|line| !line.is_empty()).map(str::to_owned)
        });
        let Some(path) = outcome.worktree_path.or(printed) else {
            return Err(failed("it printed no path".to_owned()));
        };
        folder(&path, base)
            .map(Some)
            .map_err(|why| WorktreeHookError::Path {
                name: name.to_owned(),
                path,
                why,
            })
    }

    /// Lets hooks remove a work tree that a hook has made. They cannot refuse; what they fail at is shown. False where
    /// there is no such hook, and git has to do it.
    pub async fn remove_worktree(&self, path: &Path, cancel: &CancellationToken) -> bool {
        let fields = json!({"worktree_path": path});
        let outcome = self
            .fire(HookEvent::WorktreeRemove, None, fields, cancel)
            .await;
        outcome.ran > 0
    }
}

/// The folder that a hook named, if it may be used.
fn folder(path: &str, base: &Path) -> Result<PathBuf, &'static str> {
    let given = Path::new(path);
    let walks = |part| matches!(part, Component::ParentDir | Component::CurDir);
    if given.is_absolute() && given.components().any(walks) {
        return Err("which has `.` or `..` in it");
    }
    let whole = base.join(given);
    let real = whole.canonicalize().map_err(|_| "which is not there")?;
    if !real.is_dir() {
        return Err("which is not a folder");
    }
    // A link below the repository would let a work tree lie where nobody expects it.
    let base = base
        .canonicalize()
        .map_err(|_| "and the repository is gone")?;
    if whole.starts_with(&base) && !real.starts_with(&base) {
        return Err("which a symbolic link leads out of the repository");
    }
    Ok(real)
}

//! The separate worktree of a lead.

use std::path::{Path, PathBuf};

use swarm_protocol::SessionId;
use swarm_supervisor::WorktreeWish;
use swarm_worktree::{
    Created, Hazard, Owner, Record, Request, Resident, Slug, WorktreeError, WorktreeOutcome,
    Worktrees, worktree_notice,
};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::commands::{called_off_by_signals, runtime};
use crate::failure::{Failure, Result};
use crate::own_process::identity;
use crate::spawn_context::worktrees;

/// A lead's worktree during its run.
pub(in crate::commands) struct OwnWorktree {
    worktrees: Worktrees,
    created: Created,
    before: PathBuf,
}

impl OwnWorktree {
    /// Creates or reuses a worktree and changes into it.
    pub(in crate::commands) fn enter(
        app: &App,
        wish: WorktreeWish,
        session: SessionId,
    ) -> Result<Self> {
        let worktrees = worktrees(app);
        let id: String = session.to_string().chars().take(8).collect();
        let slug = wish
            .slug
            .map_or_else(|| Slug::parse(&format!("run-{id}")), Ok)?;
        let cancel = CancellationToken::new();
        let request = Request {
            from: app.env.cwd.clone(),
            slug,
            owner: Owner::default(),
            process: identity().mark(),
            uncommitted: wish.uncommitted,
            now: app.clock.now(),
            cancel: cancel.clone(),
        };
        let created = create(&worktrees, request, cancel)?;
        Self::moved(app, worktrees, created)
    }

    /// Reuses the worktree of a lost lead and changes into the directory in which it worked.
    pub(in crate::commands) fn take_over(app: &App, record: &Record, cwd: PathBuf) -> Result<Self> {
        let worktrees = worktrees(app);
        let created = worktrees.take_over(record, identity().mark())?;
        Self::moved(app, worktrees, Created { cwd, ..created })
    }

    fn moved(app: &App, worktrees: Worktrees, created: Created) -> Result<Self> {
        std::env::set_current_dir(&created.cwd)?;
        let entered = Self {
            worktrees,
            created,
            before: app.env.cwd.clone(),
        };
        app.out.say(&format!(
            "working in {} {}",
            entered.created.record.path.display(),
            entered.created.record.origin()
        ));
        for notice in &entered.created.notices {
            app.out.say(&format!("  {notice}"));
        }
        Ok(entered)
    }

    /// Returns the lead's working directory.
    pub(in crate::commands) fn cwd(&self) -> PathBuf {
        self.created.cwd.clone()
    }

    /// Returns the information for the lead's model.
    pub(in crate::commands) fn notice(&self) -> String {
        worktree_notice(&self.created, Resident::Lead)
    }

    pub(in crate::commands) fn root(&self) -> PathBuf {
        self.created.record.path.clone()
    }

    /// Returns the environment variables for its programs.
    pub(in crate::commands) fn extend_env(
        &self,
        env: &mut std::collections::BTreeMap<String, String>,
    ) {
        self.created.record.extend_env(env);
    }

    /// Ends the run: removes the worktree if it has no changes, otherwise keeps it.
    pub(in crate::commands) fn leave(self, app: &App) {
        match std::env::set_current_dir(&self.before) {
            Ok(()) => part(app, &self.worktrees, &self.created.record),
            Err(error) => app.out.say(&kept(
                &self.created.record.path,
                &Failure::from(error).message,
            )),
        }
    }
}

/// Creates the worktree unless a signal cancels it.
fn create(worktrees: &Worktrees, request: Request, cancel: CancellationToken) -> Result<Created> {
    let maker = worktrees.clone();
    let making = tokio::task::spawn_blocking;
    let called_off = cancel.clone();
    let created = runtime()?.block_on(called_off_by_signals(cancel, async move {
        making(move || maker.create(&request)).await
    }));
    let created = created.map_err(anyhow::Error::from)??;
    if called_off.is_cancelled() {
        worktrees.undo(&created)?;
        let slug = created.record.slug.to_string();
        return Err(WorktreeError::Interrupted(slug).into());
    }
    Ok(created)
}

/// Releases a worktree that the lead entered and did not leave.
pub(in crate::commands) fn leave_entered(app: &App) {
    let worktrees = worktrees(app);
    match worktrees.held_by(&app.env.cwd, &identity().mark()) {
        Ok(held) => {
            for record in held {
                part(app, &worktrees, &record);
            }
        }
        Err(error) => tracing::warn!(%error, "worktrees of this process not found"),
    }
}

/// Removes a worktree without changes and reports the result.
fn part(app: &App, worktrees: &Worktrees, record: &Record) {
    let path = record.path.display();
    let parted = worktrees.finish(&record.path, &record.former_owner(), app.clock.now());
    app.out.say(&match parted {
        Ok(Some(WorktreeOutcome::Kept {
            slug, branch, why, ..
        })) => {
            let can_be_merged = Hazard::commits_can_be_merged(&why);
            let why: Vec<_> = why.iter().map(ToString::to_string).collect();
            let why = why.join("; ");
            if record.by_hook {
                format!("swarm: the worktree is kept: {path} ({why}); `swarm worktree remove --force {slug}` removes it with your hook")
            } else if can_be_merged {
                format!("swarm: the worktree is kept: {path} on {branch} ({why}); `swarm worktree merge {slug}` merges its commits")
            } else {
                format!("swarm: the worktree is kept: {path} on {branch} ({why})")
            }
        }
        // Another process has taken the worktree over.
        Ok(None) => return,
        Ok(Some(WorktreeOutcome::Removed(_))) => format!("swarm: the worktree {} had no unmerged work and was removed", record.slug),
        Err(error) => kept(&record.path, &error.to_string()),
    });
}

fn kept(path: &Path, why: &str) -> String {
    format!("swarm: the worktree {} is kept: {why}", path.display())
}

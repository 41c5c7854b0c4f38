//! A lead that works in a work tree of its own.

use std::path::PathBuf;

use swarm_lead::WorktreeWish;
use swarm_protocol::SessionId;
use swarm_worktree::{Created, Owner, Parting, ProcessMark, Request, Slug, Worktrees};

use crate::app::App;
use crate::deployment::{identity, worktrees};
use crate::failure::Failure;

/// The work tree of a lead, from the start of its run to the end.
pub(in crate::commands) struct OwnWorktree {
    worktrees: Worktrees,
    created: Created,
    before: PathBuf,
}

impl OwnWorktree {
    /// Makes it, or takes up one that is there, and moves this process into it.
    pub(in crate::commands) fn enter(
        app: &App,
        wish: WorktreeWish,
        session: SessionId,
    ) -> Result<Self, Failure> {
        let worktrees = worktrees(app);
        let own = identity();
        let id: String = session.to_string().chars().take(8).collect();
        let slug = wish
            .slug
            .map_or_else(|| Slug::parse(&format!("run-{id}")), Ok)?;
        let created = worktrees.create(&Request {
            from: app.env.cwd.clone(),
            slug,
            owner: Owner::default(),
            process: ProcessMark {
                pid: own.pid,
                start: own.start,
            },
            uncommitted: wish.uncommitted,
            now: app.clock.now(),
        })?;
        std::env::set_current_dir(&created.cwd)?;
        let entered = Self {
            worktrees,
            created,
            before: app.env.cwd.clone(),
        };
        app.out.say(&format!(
            "working in {} on {}, from {}",
            entered.created.record.path.display(),
            entered.created.record.branch,
            entered.created.record.base.describe()
        ));
        for notice in &entered.created.notices {
            app.out.say(&format!("  {notice}"));
        }
        Ok(entered)
    }

    /// The folder in which the lead works.
    pub(in crate::commands) fn cwd(&self) -> PathBuf {
        self.created.cwd.clone()
    }

    /// The whole of its work tree.
    pub(in crate::commands) fn root(&self) -> PathBuf {
        self.created.record.path.clone()
    }

    /// What its programs are told.
    pub(in crate::commands) fn extend_env(
        &self,
        env: &mut std::collections::BTreeMap<String, String>,
    ) {
        self.created.record.extend_env(env);
    }

    /// The end of the run: the work tree goes if it holds nothing, and is kept otherwise.
    pub(in crate::commands) fn leave(self, app: &App) {
        let path = &self.created.record.path;
        let parted = std::env::set_current_dir(&self.before)
            .map_err(Failure::from)
            .and_then(|()| Ok(self.worktrees.part(path, app.clock.now())?));
        match parted {
            Ok(Some(Parting::Kept {
                slug, branch, why, ..
            })) => {
                let why: Vec<_> = why.iter().map(ToString::to_string).collect();
                app.out.say(&format!(
                    "swarm: the work tree is kept: {} on {branch} ({}); `swarm worktree merge {slug}` merges what is committed",
                    path.display(),
                    why.join("; ")
                ));
            }
            Ok(_) => app
                .out
                .say("swarm: the work tree held nothing new and is gone"),
            Err(failure) => app.out.say(&format!(
                "swarm: the work tree {} is kept: {}",
                path.display(),
                failure.message
            )),
        }
    }
}

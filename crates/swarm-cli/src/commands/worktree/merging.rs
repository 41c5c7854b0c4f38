//! A merge of a worktree, with the checks of its owner's tasks.

use serde_json::{Value, json};
use swarm_os::LockInterrupt;
use swarm_protocol::{AgentId, ErrorKind, TaskId, TaskStatus};
use swarm_store::BlockOn as _;
use swarm_supervisor::{merge_error, wait_for_target};
use swarm_team::{MergeError, MergeRetries, MergeRetry, shell_in_merge};
use swarm_tools::run_check;
use swarm_worktree::{MergeCandidate, Merged, Owner, RemoteState, Slug, WorktreeError, Worktrees};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::commands::runtime;
use crate::commands::task::check_shell;
use crate::failure::{Failure, Result};

/// Why a worktree was not merged.
pub(super) struct NotMerged {
    pub(super) failure: Failure,
    pub(super) conflicts: Option<Vec<String>>,
    /// Why the merge itself is refused.
    pub(super) refusal: Option<Box<MergeError>>,
}

impl NotMerged {
    pub(super) fn record(&self, slug: &Slug) -> Value {
        let mut record = self.failure.to_json();
        record["slug"] = json!(slug);
        record["outcome"] = json!("failed");
        record["conflicts"] = json!(self.conflicts);
        record
    }

    /// Returns the failure for people. The changes for which the merge has waited are named already.
    pub(super) fn failure(self, slug: &Slug, has_waited: bool) -> Failure {
        let is_awaited = matches!(
            self.refusal.as_deref(),
            Some(MergeError::TargetChanged { .. })
        );
        if is_awaited && has_waited {
            let message = format!("{slug} was not merged: these changes are still there");
            return Failure {
                message,
                ..self.failure
            };
        }
        self.failure
    }
}

impl From<WorktreeError> for NotMerged {
    fn from(error: WorktreeError) -> Self {
        let conflicts = match &error {
            WorktreeError::Conflict { files, .. } => Some(files.clone()),
            _ => None,
        };
        Self {
            conflicts,
            refusal: Some(Box::new(merge_error(&error))),
            failure: Failure::from(error),
        }
    }
}

impl From<Failure> for NotMerged {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            conflicts: None,
            refusal: None,
        }
    }
}

/// How worktrees are merged.
pub(super) struct Merge<'a> {
    pub(super) app: &'a App,
    pub(super) worktrees: &'a Worktrees,
    pub(super) checks: Checks,
    /// Asked about each merge before its checks, which may take minutes, and before it is applied.
    pub(super) permit: &'a dyn Fn(&MergeCandidate) -> Result<()>,
    /// Told what a merge waits for.
    pub(super) on_wait: &'a dyn Fn(&str),
}

impl Merge<'_> {
    /// Merges a worktree, if its checks pass. Attempts it again if its target moves, and waits while the
    /// checkout of the target has uncommitted changes.
    pub(super) fn run(
        &self,
        slug: &Slug,
        retries: &mut MergeRetries,
    ) -> Result<(Merged, Option<RemoteState>), NotMerged> {
        retries.begin_merge();
        loop {
            let refused = match self.attempt(slug) {
                Ok(merged) => return Ok(merged),
                Err(refused) => refused,
            };
            let retry = refused
                .refusal
                .as_deref()
                .and_then(|why| retries.after(why));
            match retry {
                Some(MergeRetry::Immediate) => {}
                Some(MergeRetry::AfterWait { awaited, within }) => {
                    (self.on_wait)(awaited);
                    let cancel = CancellationToken::new();
                    let here = &self.app.env.cwd;
                    let waited = wait_for_target(self.worktrees, here, slug, within, &cancel);
                    runtime()?.block_on(waited)?;
                }
                None => return Err(refused),
            }
        }
    }

    fn attempt(&self, slug: &Slug) -> Result<(Merged, Option<RemoteState>), NotMerged> {
        let interrupt = LockInterrupt::default();
        let on_wait = || {
            self.app
                .out
                .say("waiting for another merge of this repository");
        };
        let here = &self.app.env.cwd;
        let mut candidate = (self.worktrees).merge_candidate(here, slug, &interrupt, &on_wait)?;
        (self.permit)(&candidate)?;
        run_checks(self.app, &mut candidate, self.checks)?;
        (self.permit)(&candidate)?;
        let record = candidate.record();
        let (remote, owner) = (record.remote.clone(), record.owner.clone());
        let tip = candidate.tip().to_owned();
        let merged = candidate.apply()?;
        if remote.is_some() {
            note_merged(self.app, &owner, &tip);
        }
        Ok((merged, remote))
    }
}

/// Tells the machine that has the worktree of a member that its commits were merged. The merge is
/// complete without that; the worktree is kept there.
fn note_merged(app: &App, owner: &Owner, commit: &str) {
    let (Some(team), Some(member)) = (&owner.team, &owner.member) else {
        return;
    };
    let store = app.store.team(team);
    if let Err(error) = store.note_merged(member, commit).block_on() {
        tracing::warn!(%team, %member, %error, "not noted that work was merged");
    }
}

/// Which checks run on a merge.
#[derive(Debug, Clone, Copy)]
pub(super) enum Checks {
    None,
    /// Those of the owner's open tasks.
    OfOwner,
    /// Those of a task, unless the merge has the files on which they have passed on its owner's machine.
    OfTask(TaskId),
}

/// Runs checks on a merge. Fails at the first that does not pass.
fn run_checks(app: &App, candidate: &mut MergeCandidate, checks: Checks) -> Result<()> {
    let only = match checks {
        Checks::None => return Ok(()),
        Checks::OfTask(_) if candidate.adds_nothing() => return Ok(()),
        Checks::OfTask(task) => Some(task),
        Checks::OfOwner => None,
    };
    let owner = candidate.record().owner.clone();
    let (Some(team), Some(member), None) = (owner.team, owner.member, owner.agent) else {
        return Ok(());
    };
    let files = app.store.team(&team);
    let tasks = match files.tasks().block_on() {
        Ok(tasks) => tasks,
        // The team may be gone.
        Err(_) if only.is_none() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // The directory of a member on another machine is not here, but the merge has its files.
    let elsewhere = match candidate.record().remote {
        Some(_) => {
            let config = files.config().block_on()?;
            config.member(&member).map(|member| member.cwd.clone())
        }
        None => None,
    };
    let owner = AgentId::new(member, team);
    let worktree = candidate.record().path.clone();
    let is_open = |task: &&swarm_protocol::Task| {
        // The owner may complete a task that belongs to nobody.
        let is_meant = only.map_or_else(|| task.is_owned_by(&owner), |only| task.id == only);
        is_meant && task.status != TaskStatus::Completed
    };
    // One for all checks: a task's shell keeps its sandbox, whose proxy runs on this runtime.
    let runtime = runtime()?;
    for task in tasks.tasks.iter().filter(is_open) {
        let Some(mut shell) = check_shell(app, &*files, task.id)? else {
            continue;
        };
        if let Some(cwd) = &elsewhere {
            shell.cwd.clone_from(cwd);
        }
        let merge = candidate.check_out()?;
        let shell = shell_in_merge(&shell, &worktree, &merge);
        for check in &task.checks() {
            let ran = runtime.block_on(run_check(&check.command, &shell));
            let why = match ran {
                Ok(ran) if ran.exit_code == Some(0) => continue,
                Ok(ran) => format!("failed:\n{}", ran.output),
                Err(why) => format!("did not run: {why}"),
            };
            let message = format!(
                "{} was not merged: check `{}` of task #{} {why}",
                candidate.record().branch,
                check.command,
                task.id
            );
            return Err(
                Failure::new(ErrorKind::Refused, message).with_hint("`--no-checks` merges anyway")
            );
        }
    }
    Ok(())
}

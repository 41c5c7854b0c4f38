//! The work of a task's owner, which is merged before the task is completed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use swarm_protocol::{Member, MemberName, Task, TaskId, TaskStatus};
use swarm_store::{Actor, Draft, StoreError, Team};
use swarm_tools::{Confinement, ToolContext};

use crate::MergeError;
use crate::send::error_for_model;

/// Work in a worktree that completing a task merges.
pub(crate) struct OwnerWork {
    task: Task,
    owner: MemberName,
    pub(crate) worktree: PathBuf,
}

impl OwnerWork {
    /// Returns the work that completing a task merges, if its owner has a worktree.
    pub(crate) async fn of(
        team: &dyn Team,
        id: &TaskId,
        by: &Actor,
    ) -> Result<Option<Self>, StoreError> {
        let task = team.task(id).await?;
        if task.status == TaskStatus::Completed {
            return Ok(None);
        }
        let config = team.config().await?;
        let mut members = config.members.iter();
        let owner = match &task.owner {
            Some(_) => members.find(|member| task.is_owned_by(&member.id_in(team.name()))),
            None => members.find(|member| &member.name == by.name()),
        };
        // An actor that may not complete the task does not merge it; the task list reports why.
        let owner = owner.filter(|owner| &owner.name == by.name() || by.force);
        let work = |owner: &Member| {
            Some(Self {
                worktree: owner.worktree_path.clone()?,
                owner: owner.name.clone(),
                task: task.clone(),
            })
        };
        Ok(owner.and_then(work))
    }

    /// Tells the lead what the merge waits for, unless it is the caller. A failure is only logged:
    /// the lead is notified again if the wait fails.
    pub(crate) async fn tell_lead_of_wait(&self, team: &dyn Team, by: &Actor, awaited: &str) {
        let lead = MemberName::lead();
        if &lead == by.name() {
            return;
        }
        let (id, subject) = (&self.task.id, &self.task.subject);
        let text = format!(
            "The merge of {}'s work for task #{id} ({subject}) waits for {awaited}. The task is completed once they are \
             committed or stashed there.",
            self.owner
        );
        if let Err(error) = team.send(&lead, Draft::system(text).summarized()).await {
            tracing::warn!(%error, "lead not told that a merge waits");
        }
    }

    /// Returns why the task is not completed. Its owner is notified unless it is the caller, and
    /// the lead of what only it or a person can resolve.
    pub(crate) async fn refused(&self, team: &dyn Team, by: &Actor, error: &MergeError) -> String {
        let (id, subject) = (&self.task.id, &self.task.subject);
        let refused = format!(
            "task #{id} ({subject}) is not completed, its work is not in the target: {error}"
        );
        let mut told = Vec::new();
        if !self.owner.is_lead() {
            let fixed = "It stays yours; complete it again once that is fixed.";
            told.push((self.owner.clone(), format!("{refused}. {fixed}")));
        }
        if matches!(error, MergeError::TargetChanged { .. }) {
            let text = format!("{refused}. {} completes it again then.", self.owner);
            told.push((MemberName::lead(), text));
        }
        for (name, text) in told {
            if &name == by.name() {
                continue;
            }
            if let Err(error) = team
                .send(&name, Draft::system(text.clone()).summarized())
                .await
            {
                let why = error_for_model(&error);
                return format!("{refused}; {name} was not notified: {why}");
            }
        }
        refused
    }
}

/// Returns the shell for checks in the files of a merge: in the directory that corresponds to that
/// of `shell` in the worktree, and confined to them.
pub fn shell_in_merge(shell: &ToolContext, worktree: &Path, files: &Path) -> ToolContext {
    let below = shell.cwd.strip_prefix(worktree);
    if files == worktree && below.is_ok() {
        return shell.clone();
    }
    let cwd = files.join(below.unwrap_or_else(|_| Path::new("")));
    let cwd = Some(cwd).filter(|cwd| cwd.is_dir());
    ToolContext {
        cwd: cwd
            .unwrap_or_else(|| files.to_owned())
            .components()
            .collect(),
        confine: Some(Arc::new(Confinement::new(files))),
        shell: Arc::new(shell.shell.for_other_agent(false)),
        ..shell.clone()
    }
}

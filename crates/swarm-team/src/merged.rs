//! Merging the work of a task's owner before the task is completed.

use swarm_protocol::{TaskId, TaskStatus};
use swarm_store::{Actor, Draft, Team};

use crate::WorkMerger;
use crate::send::{error_for_model, summary_of};

/// Merges the work of a task's owner into the target before the task is completed. If that fails,
/// the task is unchanged and its owner is notified, unless the owner is the caller.
///
/// # Errors
/// The reason for the caller.
pub(crate) async fn require_merged(
    team: &dyn Team,
    id: &TaskId,
    by: &Actor,
    merger: Option<&dyn WorkMerger>,
) -> Result<(), String> {
    let Some(merger) = merger else {
        return Ok(());
    };
    let task = team
        .task(id)
        .await
        .map_err(|error| error_for_model(&error))?;
    if task.status == TaskStatus::Completed {
        return Ok(());
    }
    let config = team
        .config()
        .await
        .map_err(|error| error_for_model(&error))?;
    let mut members = config.members.iter();
    let owner = match &task.owner {
        Some(_) => members.find(|member| task.is_owned_by(&member.id_in(team.name()))),
        None => members.find(|member| &member.name == by.name()),
    };
    // An actor that may not complete the task does not merge it; the task list reports why.
    let owner = owner.filter(|owner| &owner.name == by.name() || by.force);
    let Some((owner, worktree)) = owner.and_then(|owner| {
        let worktree = owner.worktree_path.as_deref()?;
        Some((owner, worktree))
    }) else {
        return Ok(());
    };
    let Err(why) = merger.merge(worktree).await else {
        return Ok(());
    };
    let subject = &task.subject;
    let refused =
        format!("task #{id} ({subject}) is not completed, its work is not in the target: {why}");
    if &owner.name != by.name() && !owner.name.is_lead() {
        let text = format!("{refused}. It stays yours; complete it again once that is fixed.");
        let message = Draft::system(text.clone()).with_summary(summary_of(&text, None));
        if let Err(error) = team.send(&owner.name, message).await {
            return Err(format!(
                "{refused}; {} was not notified: {}",
                owner.name,
                error_for_model(&error)
            ));
        }
    }
    Err(refused)
}

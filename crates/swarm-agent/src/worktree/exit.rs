//! The tool `ExitWorktree`.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;
use swarm_tools::{ToolContext, ToolOutput, TypedTool, prompt};
use swarm_worktree::{Created, Hazard, RemovedWorktree, WorktreeOutcome};

use super::isolator::blocking;
use super::stay::SessionWorktree;

#[derive(Debug)]
pub(super) struct ExitWorktree(pub(super) Arc<SessionWorktree>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Keep,
    Remove,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    action: Action,
    /// With `remove`: also remove uncommitted and unmerged work, which is saved as a ref and a patch first
    #[serde(default)]
    discard_changes: bool,
}

#[async_trait]
impl TypedTool for ExitWorktree {
    type Parameters = Input;
    const NAME: &'static str = "ExitWorktree";
    const PROMPT: &'static str = prompt!("tools/ExitWorktree");
    // It creates and removes files of the repository.
    const KIND: ToolKind = ToolKind::Other;

    fn one_line(&self, input: &Value) -> String {
        let action = input["action"].as_str().unwrap_or_default();
        let line = format!("ExitWorktree {action}");
        line.chars().filter(|c| !c.is_control()).take(120).collect()
    }

    async fn call(&self, input: Input, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        let left = self.leave(input).await;
        let text = left.map_err(|why| format!("{}: {why}", Self::NAME))?;
        Ok(ToolOutput::ok(text, "left"))
    }
}

impl ExitWorktree {
    async fn leave(&self, input: Input) -> Result<String, String> {
        let entered = self.0.entered().clone();
        let created = entered.ok_or("you have not entered a worktree")?.created;
        let (session, moved) = (Arc::clone(&self.0), created.clone());
        let done = blocking(move || match input.action {
            Action::Keep => session.source.worktrees.release(&moved).map(|()| None),
            Action::Remove => remove(&session, &moved, input.discard_changes).map(Some),
        })
        .await?;
        let path = created.record.path.display();
        let removed = match done {
            Some(Ok(removed)) => Some(removed),
            Some(Err(why)) => {
                let why: Vec<_> = why.iter().map(ToString::to_string).collect();
                return Err(format!(
                    "{path} was not removed, and you are still in it: {}. Commit or merge the changes, or use the action `keep`",
                    why.join("; ")
                ));
            }
            None => None,
        };
        *self.0.entered() = None;
        let (branch, both) = if created.record.by_hook {
            (String::new(), "It")
        } else {
            let branch = &created.record.branch;
            (format!("worktreeBranch: {branch}\n"), "Each of them")
        };
        let rescue = removed.as_ref().and_then(|removed| removed.rescue.as_ref());
        let outcome = match (&removed, rescue) {
            (None, _) => "kept unchanged.".to_owned(),
            (Some(_), None) => "removed.".to_owned(),
            (Some(_), Some(saved)) => format!(
                "removed; its changes are saved in {} and {}.",
                saved.reference,
                saved.patch.display()
            ),
        };
        Ok(format!(
            "You are back in {}.\nworktreePath: {path}\n{branch}{both} was {outcome}",
            self.0.origin.display(),
        ))
    }
}

/// Removes the worktree, or returns what prevents it; the worktree is then marked as in use again.
fn remove(
    session: &SessionWorktree,
    created: &Created,
    discard: bool,
) -> Result<Result<RemovedWorktree, Vec<Hazard>>, swarm_worktree::WorktreeError> {
    let done = try_to_remove(session, created, discard);
    if !matches!(done, Ok(Ok(_))) {
        session.source.worktrees.reacquire(created)?;
    }
    done
}

fn try_to_remove(
    session: &SessionWorktree,
    created: &Created,
    discard: bool,
) -> Result<Result<RemovedWorktree, Vec<Hazard>>, swarm_worktree::WorktreeError> {
    let (record, source) = (&created.record, &session.source);
    let now = source.clock.now();
    let why = match source
        .worktrees
        .finish(&record.path, &record.former_owner(), now)?
    {
        Some(WorktreeOutcome::Removed(removed)) => return Ok(Ok(removed)),
        Some(WorktreeOutcome::Kept { why, .. }) => why,
        // Another agent uses the worktree by now, so this agent must not remove it.
        None => return Ok(Err(vec![Hazard::InUse("another agent".to_owned())])),
    };
    if discard {
        return source
            .worktrees
            .remove(&record.from, &record.slug, true, now)
            .map(Ok);
    }
    Ok(Err(why))
}

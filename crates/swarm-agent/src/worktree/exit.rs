//! `ExitWorktree`.

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use swarm_protocol::ToolKind;
use swarm_tools::{Tool, ToolContext, ToolOutput, parse, prompt, schema};
use swarm_worktree::{Created, Hazard, RemovedWorktree, WorktreeOutcome};

use super::stay::{Stay, blocking};

#[derive(Debug)]
pub(super) struct ExitWorktree(pub(super) Arc<Stay>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Keep,
    Remove,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    action: Action,
    /// With `remove`: also remove uncommitted and unmerged work, which is saved as a ref and a patch first
    #[serde(default)]
    discard_changes: bool,
}

#[async_trait]
impl Tool for ExitWorktree {
    fn name(&self) -> &'static str {
        "ExitWorktree"
    }

    fn description(&self) -> String {
        prompt!("tools/ExitWorktree").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<Input>()
    }

    fn kind(&self) -> ToolKind {
        // It makes and removes files of the repository.
        ToolKind::Other
    }

    fn one_line(&self, input: &Value) -> String {
        let action = input["action"].as_str().unwrap_or_default();
        let line = format!("ExitWorktree {action}");
        line.chars().filter(|c| !c.is_control()).take(120).collect()
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        match self.leave(input).await {
            Ok(text) => ToolOutput::ok(text, "left"),
            Err(why) => ToolOutput::error(format!("ExitWorktree: {why}")),
        }
    }
}

impl ExitWorktree {
    async fn leave(&self, input: Value) -> Result<String, String> {
        let input: Input = parse("parameters", input)?;
        let entered = self.0.entered().clone();
        let created = entered
            .ok_or("you are in no worktree that you entered")?
            .created;
        let (place, moved) = (Arc::clone(&self.0), created.clone());
        let done = blocking(move || match input.action {
            Action::Keep => place.worktrees.release(&moved).map(|()| None),
            Action::Remove => remove(&place, &moved, input.discard_changes).map(Some),
        })
        .await?;
        let path = created.record.path.display();
        let removed = match done {
            Some(Ok(removed)) => Some(removed),
            Some(Err(why)) => {
                let why: Vec<_> = why.iter().map(ToString::to_string).collect();
                return Err(format!(
                    "{path} was not removed, and you are still in it: {}. Commit or merge it, or leave it with `keep`",
                    why.join("; ")
                ));
            }
            None => None,
        };
        *self.0.entered() = None;
        let mut text = format!(
            "You are back in {}.\nworktreePath: {path}\n",
            self.0.origin.display(),
        );
        let both = if created.record.by_hook {
            "It"
        } else {
            // Writing into a String cannot fail.
            let _infallible = writeln!(text, "worktreeBranch: {}", created.record.branch);
            "Each of them"
        };
        let rescue = removed.as_ref().and_then(|removed| removed.rescue.as_ref());
        // Writing into a String cannot fail.
        let _infallible = match (&removed, rescue) {
            (None, _) => write!(text, "{both} stays as it was left."),
            (Some(_), None) => write!(text, "{both} is gone."),
            (Some(_), Some(saved)) => write!(
                text,
                "{both} is gone; what was there is saved in {} and {}.",
                saved.reference,
                saved.patch.display()
            ),
        };
        Ok(text)
    }
}

/// Removes the worktree, or says what speaks against it; whatever it is, it is in use again then.
fn remove(
    place: &Stay,
    created: &Created,
    discard: bool,
) -> Result<Result<RemovedWorktree, Vec<Hazard>>, swarm_worktree::WorktreeError> {
    let done = try_to_remove(place, created, discard);
    if !matches!(done, Ok(Ok(_))) {
        place.worktrees.reacquire(created)?;
    }
    done
}

fn try_to_remove(
    place: &Stay,
    created: &Created,
    discard: bool,
) -> Result<Result<RemovedWorktree, Vec<Hazard>>, swarm_worktree::WorktreeError> {
    let (record, now) = (&created.record, place.clock.now());
    let why = match place
        .worktrees
        .finish(&record.path, &record.former_owner(), now)?
    {
        Some(WorktreeOutcome::Removed(removed)) => return Ok(Ok(removed)),
        Some(WorktreeOutcome::Kept { why, .. }) => why,
        // Somebody else has taken it up meanwhile: it is not for this agent to remove.
        None => return Ok(Err(vec![Hazard::InUse("somebody else".to_owned())])),
    };
    if discard {
        return place
            .worktrees
            .remove(&record.from, &record.slug, true, now)
            .map(Ok);
    }
    Ok(Err(why))
}

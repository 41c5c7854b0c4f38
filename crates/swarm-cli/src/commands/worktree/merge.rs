//! `swarm worktree merge`.

use std::process::ExitCode;

use serde_json::{Value, json};
use swarm_worktree::{Condition, MergeOutcome, Merged, Slug, WorktreeError, Worktrees};

use super::remove::require_person;
use crate::app::App;
use crate::args::WorktreeMergeArgs;
use crate::deployment::worktrees;
use crate::failure::Failure;

pub(super) fn run(app: &App, args: &WorktreeMergeArgs) -> Result<ExitCode, Failure> {
    require_person(app, "worktree merge")?;
    let worktrees = worktrees(app);
    let slugs = match &args.slug {
        Some(slug) => vec![Slug::parse(slug)?],
        None => at_rest(app, &worktrees)?,
    };
    let (mut records, mut failures) = (Vec::new(), Vec::new());
    for slug in slugs {
        match worktrees.merge(&app.env.cwd, &slug) {
            Ok(merged) => {
                if !app.out.json {
                    app.out.data(&sentence(&merged))?;
                }
                records.push(json!({
                    "slug": slug,
                    "branch": merged.branch,
                    "target": merged.target,
                    "head": merged.head,
                    "outcome": merged.outcome.name(),
                }));
            }
            Err(error) => {
                let conflicts = match &error {
                    WorktreeError::Conflict { files, .. } => json!(files),
                    _ => Value::Null,
                };
                let failure = Failure::from(error);
                let mut record = failure.to_json();
                record["slug"] = json!(slug);
                record["outcome"] = json!("failed");
                record["conflicts"] = conflicts;
                records.push(record);
                failures.push(failure);
            }
        }
    }
    if app.out.json {
        app.out.json(&records)?;
    } else if records.is_empty() {
        app.out.say("there is nothing to merge");
    }
    Failure::worst(failures).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The work trees in which nobody works at the moment.
fn at_rest(app: &App, worktrees: &Worktrees) -> Result<Vec<Slug>, Failure> {
    let (listed, _) = worktrees.list(&app.env.cwd)?;
    let at_rest = listed
        .into_iter()
        .filter(|listed| !matches!(listed.condition, Condition::InUse | Condition::HalfMade));
    Ok(at_rest.map(|listed| listed.record.slug).collect())
}

fn sentence(merged: &Merged) -> String {
    let Merged {
        branch,
        target,
        head,
        outcome,
    } = merged;
    let head = head.get(..12).unwrap_or(head);
    match outcome {
        MergeOutcome::AlreadyThere => format!("{target} has {branch} already"),
        MergeOutcome::FastForward | MergeOutcome::MergeCommit => {
            format!("{branch} is merged into {target}, which is at {head} now")
        }
    }
}

//! `swarm worktree merge`.

use std::cell::Cell;
use std::process::ExitCode;

use serde_json::json;
use swarm_team::MergeRetries;
use swarm_worktree::{Condition, MergeOutcome, Merged, Slug, Worktrees};

use super::merging::{Checks, Merge};
use super::published::{fetch, uncommitted_there};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::failure::{Failure, Result};
use crate::spawn_context::worktrees;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The merge is atomic: on a conflict the base branch is unchanged and the conflicting files are listed. The checks of the \
owner's open tasks run on the result, and nothing is merged if one fails. While the checkout of the base branch has \
uncommitted changes, the merge waits (worktree.merge_wait_s).

Examples:
  swarm worktree merge alice
  swarm worktree merge --all")]
pub(crate) struct WorktreeMergeArgs {
    /// Name of the worktree.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) slug: Option<String>,
    /// Merge all worktrees that are not in use, one after another.
    #[arg(long)]
    pub(crate) all: bool,
    /// Do not run the checks of the owner's open tasks.
    #[arg(long)]
    pub(crate) no_checks: bool,
}

pub(super) fn run(app: &App, args: &WorktreeMergeArgs) -> Result<ExitCode> {
    require_person(app, "worktree merge")?;
    let worktrees = worktrees(app);
    let wanted = args.slug.as_deref().map(Slug::parse).transpose()?;
    fetch(app, &worktrees, wanted.as_ref())?;
    let (slugs, passed_over) = match wanted {
        Some(slug) => (vec![slug], Vec::new()),
        None => at_rest(app, &worktrees)?,
    };
    let (mut records, mut failures) = (Vec::new(), Vec::new());
    let mut retries = MergeRetries::new(worktrees.settings().merge_wait);
    let has_waited = Cell::new(false);
    let merge = Merge {
        app,
        worktrees: &worktrees,
        checks: if args.no_checks {
            Checks::None
        } else {
            Checks::OfOwner
        },
        permit: &|_| Ok(()),
        on_wait: &|awaited| {
            has_waited.set(true);
            app.out.say(&format!(
                "waiting for {awaited}; commit or stash them there"
            ));
        },
    };
    for slug in slugs {
        has_waited.set(false);
        match merge.run(&slug, &mut retries) {
            Ok((merged, remote)) => {
                if !app.out.json {
                    app.out.data(&sentence(&merged))?;
                }
                let mut record = json!({
                    "slug": slug,
                    "branch": merged.branch,
                    "target": merged.target,
                    "head": merged.head,
                    "outcome": merged.outcome.name(),
                });
                if let Some(remote) = remote {
                    app.out.say(&uncommitted_there(&slug, &remote));
                    record["remote"] = json!(remote);
                }
                records.push(record);
            }
            Err(not_merged) => {
                records.push(not_merged.record(&slug));
                let has_waited = has_waited.get() && !app.out.json;
                failures.push(not_merged.failure(&slug, has_waited));
            }
        }
    }
    if app.out.json {
        app.out.json(&records)?;
    } else if failures.len() < records.len() {
        app.out
            .say("`swarm worktree prune` removes unused worktrees that are fully merged");
    } else if records.is_empty() && passed_over.is_empty() {
        app.out.say("nothing to merge");
    }
    if !passed_over.is_empty() {
        let names: Vec<_> = passed_over.iter().map(Slug::to_string).collect();
        app.out.say(&format!(
            "skipped because they are in use: {}; merge one anyway with `swarm worktree merge NAME`",
            names.join(", ")
        ));
    }
    Failure::worst(failures).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Splits worktrees into unused ones and those in use.
fn at_rest(app: &App, worktrees: &Worktrees) -> Result<(Vec<Slug>, Vec<Slug>)> {
    let (mut at_rest, mut in_use) = (Vec::new(), Vec::new());
    for listed in worktrees.list(&app.env.cwd)?.0 {
        match listed.condition {
            Condition::InUse => in_use.push(listed.record.slug),
            Condition::HalfMade => {}
            _ => at_rest.push(listed.record.slug),
        }
    }
    Ok((at_rest, in_use))
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
        MergeOutcome::AlreadyThere => format!("{target} already contains {branch}"),
        MergeOutcome::Copied => format!(
            "the commits of {branch} were copied to {target}, now at {head}; the uncommitted changes it started from were left out"
        ),
        MergeOutcome::FastForward | MergeOutcome::MergeCommit => {
            format!("merged {branch} into {target}, now at {head}")
        }
    }
}

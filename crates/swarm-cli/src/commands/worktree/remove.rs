//! `swarm worktree remove` and `swarm worktree prune`.

use std::process::ExitCode;

use serde_json::json;
use swarm_ui::clean_line;
use swarm_worktree::{ListedWorktree, Pruned, Slug, WorktreeError};

use super::list::{record, why};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::failure::Result;
use crate::spawn_context::worktrees;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Fails if the worktree has uncommitted, unmerged or unpushed work, is in use, or cannot be checked by git.

Examples:
  swarm worktree remove alice
  swarm worktree remove alice --force   save its work, then remove it")]
pub(crate) struct WorktreeRemoveArgs {
    /// Name of the worktree.
    pub(crate) slug: String,
    /// Save its work and remove it.
    #[arg(long)]
    pub(crate) force: bool,
}

pub(super) fn run(app: &App, args: &WorktreeRemoveArgs) -> Result<ExitCode> {
    require_person(app, "worktree remove")?;
    let slug = Slug::parse(&args.slug)?;
    let removed = worktrees(app).remove(&app.env.cwd, &slug, args.force, app.clock.now())?;
    let rescue = removed.rescue.as_ref();
    if app.out.json {
        app.out.json(&json!({
            "slug": removed.slug,
            "path": removed.path,
            "branch": removed.branch,
            "state": "removed",
            "rescueRef": rescue.map(|saved| &saved.reference),
            "rescuePatch": rescue.map(|saved| &saved.patch),
            "remainsOn": removed.remains_on,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = clean_line(&removed.path.display().to_string());
    app.out.data(&if let Some(host) = &removed.remains_on {
        format!(
            "the fetched commits of {} are removed; its worktree on {} stays",
            removed.slug,
            clean_line(host)
        )
    } else if removed.branch.is_empty() {
        format!("{path} is removed")
    } else {
        format!(
            "{path} is removed, with its branch {}",
            clean_line(&removed.branch)
        )
    })?;
    if let Some(saved) = rescue {
        app.out.data(&format!(
            "its changes are saved in {} and {}",
            saved.reference,
            saved.patch.display()
        ))?;
        app.out.say(&format!(
            "restore it with `git branch rescued {}`",
            saved.reference
        ));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn prune(app: &App, dry: bool) -> Result<ExitCode> {
    require_person(app, "worktree prune")?;
    let Pruned { gone, kept, failed } = worktrees(app).prune(&app.env.cwd, dry, app.clock.now())?;
    if app.out.json {
        let records =
            |all: &[ListedWorktree]| all.iter().map(record).collect::<Result<Vec<_>, _>>();
        let word = if dry { "wouldRemove" } else { "removed" };
        let reasons: Vec<_> = failed.iter().map(ToString::to_string).collect();
        let mut records_kept = records(&kept)?;
        for (record, listed) in records_kept.iter_mut().zip(&kept) {
            record["reason"] = json!(why(listed));
        }
        app.out
            .json(&json!({ word: records(&gone)?, "kept": records_kept, "failed": reasons }))?;
        return ended(app, failed);
    }
    for listed in &gone {
        let word = if dry { "would remove" } else { "removed" };
        let record = &listed.record;
        app.out.data(&clean_line(&match &record.remote {
            Some(remote) => format!(
                "{word} the fetched commits of {}, not its worktree on {}",
                record.slug, remote.host
            ),
            None => format!("{word} {}", record.path.display()),
        }))?;
    }
    for listed in &kept {
        app.out
            .say(&format!("kept {}: {}", listed.record.slug, why(listed)));
    }
    if gone.is_empty() && kept.is_empty() && failed.is_empty() {
        app.out.say("no worktrees");
    }
    ended(app, failed)
}

/// Prints why worktrees could not be removed; the last reason becomes the command's error.
fn ended(app: &App, mut failed: Vec<WorktreeError>) -> Result<ExitCode> {
    let last = failed.pop();
    for error in failed {
        app.out.say(&format!("not removed: {error}"));
    }
    last.map_or(Ok(ExitCode::SUCCESS), |error| Err(error.into()))
}

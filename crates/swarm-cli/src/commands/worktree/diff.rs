//! `swarm worktree diff` and `swarm worktree forecast`.

use std::process::ExitCode;

use serde_json::json;
use swarm_worktree::{Collision, Slug, WorktreeDiff};

use super::published::{fetch, fetch_listed, uncommitted_there};
use crate::app::App;
use crate::failure::Result;
use crate::spawn_context::worktrees;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm worktree diff alice
  swarm worktree diff alice | delta")]
pub(crate) struct WorktreeDiffArgs {
    /// Name of the worktree.
    pub(crate) slug: String,
}

pub(super) fn run(app: &App, args: &WorktreeDiffArgs) -> Result<ExitCode> {
    let slug = Slug::parse(&args.slug)?;
    let worktrees = worktrees(app);
    fetch(app, &worktrees, Some(&slug))?;
    show_diff(app, &worktrees.diff(&app.env.cwd, &slug)?)?;
    Ok(ExitCode::SUCCESS)
}

pub(in crate::commands) fn show_diff(app: &App, work: &WorktreeDiff) -> Result<()> {
    let slug = &work.record.slug;
    if app.out.json {
        let document = json!({ "slug": slug, "branch": work.record.branch, "base": work.base, "diff": work.diff });
        return app.out.json(&document);
    }
    if work.diff.is_empty() {
        app.out.say(&format!("{slug} has no changes"));
    } else {
        app.out.data(work.diff.trim_end_matches('\n'))?;
    }
    if let Some(remote) = &work.record.remote {
        app.out.say(&uncommitted_there(slug, remote));
    }
    Ok(())
}

pub(super) fn forecast(app: &App) -> Result<ExitCode> {
    let worktrees = worktrees(app);
    fetch_listed(app, &worktrees)?;
    let collisions = worktrees.forecast(&app.env.cwd)?;
    if app.out.json {
        app.out.json(&collisions)?;
    } else if collisions.is_empty() {
        app.out.say("no conflicts between worktrees");
    }
    if !app.out.json {
        for collision in &collisions {
            app.out.data(&collision_line(collision))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Describes a forecast conflict: `alice and bob conflict in src/a.rs`.
pub(in crate::commands) fn collision_line(collision: &Collision) -> String {
    let [one, other] = &collision.worktrees;
    let files = collision.files.join(", ");
    let line = format!("{} and {} conflict in {files}", one.slug, other.slug);
    swarm_ui::clean_line(&line)
}

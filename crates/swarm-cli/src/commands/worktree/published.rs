//! Worktrees of members on other machines, whose published work is fetched before it is used.

use std::time::Duration;

use swarm_protocol::TeamName;
use swarm_store::BlockOn as _;
use swarm_supervisor::fetch_published;
use swarm_worktree::{RemoteState, Slug, Worktrees};

use crate::app::App;
use crate::commands::runtime;
use crate::failure::Result;
use crate::output::plain;
use crate::unreachable_hubs::take_unreachable;

/// How long the hub of a team that may have nothing here is asked.
const PATIENCE: Duration = Duration::from_secs(5);

/// Like [`fetch`], for a list: only from the team that the command names, if it names one.
pub(super) fn fetch_listed(app: &App, worktrees: &Worktrees) -> Result<()> {
    let teams = match app.asked_team()? {
        Some(team) => vec![team],
        None => app.store.teams().block_on()?,
    };
    fetch_from(app, worktrees, teams, None)
}

/// Fetches what members of all teams on hubs have published for this repository. Warns if that is
/// not possible; what was fetched before can be used then. Fails if the worktree `wanted` was not
/// fetched.
pub(in crate::commands) fn fetch(
    app: &App,
    worktrees: &Worktrees,
    wanted: Option<&Slug>,
) -> Result<()> {
    fetch_from(app, worktrees, app.store.teams().block_on()?, wanted)
}

fn fetch_from(
    app: &App,
    worktrees: &Worktrees,
    mut teams: Vec<TeamName>,
    wanted: Option<&Slug>,
) -> Result<()> {
    let warn = |why: &str| {
        app.out
            .remark(&format!("work of other machines was not fetched: {why}"));
    };
    for left_out in take_unreachable(&*app.store, &mut teams) {
        warn(&left_out.text());
    }
    for name in teams {
        let team = app.store.team(&name);
        if !team.is_remote() {
            continue;
        }
        let team = team.with_lock_timeout(PATIENCE);
        let fetched = runtime()?.block_on(fetch_published(&*team, worktrees, &app.env.cwd));
        let failed = match fetched {
            Ok(failed) => failed,
            Err(error) => {
                warn(&error.to_string());
                continue;
            }
        };
        for failed in failed {
            match wanted {
                Some(slug) if failed.branch.worktree == slug.as_str() => {
                    return Err(failed.why.into());
                }
                Some(_) => {}
                None => app.out.remark(&failed.why.to_string()),
            }
        }
    }
    Ok(())
}

/// Describes what a worktree on another machine has beyond its published commits.
pub(super) fn uncommitted_there(slug: &Slug, remote: &RemoteState) -> String {
    let host = plain(&remote.host);
    if remote.uncommitted.is_empty() {
        return format!("{slug} is on {host}; these are the commits that it has published");
    }
    let files = plain(&remote.uncommitted.join(", "));
    format!("{slug} is on {host}, with uncommitted changes that are not included: {files}")
}

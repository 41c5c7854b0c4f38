//! Finds leftovers and removes them.

use swarm_panes::{TaggedPane, dead_sockets};
use swarm_protocol::{ErrorKind, TeamName};
use swarm_store::{BlockOn as _, StoreError};
use swarm_supervisor::{
    LeftPane, SeenProcess, SpawnContext, SupervisedTeam, Verdict, orphaned_panes, process_list,
    verdict,
};

use super::finds::{Find, GcAction, find, report};
use super::placeholders::placeholders;
use super::scratchpads::stale_scratchpads;
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::runtime;
use crate::commands::worktree::abandoned;
use crate::failure::{Failure, Result};
use crate::spawn_context::{self, for_stopping};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Searches the current repository for worktrees of deleted teams, and the current directory and those of members for leftovers of sandboxes. \
Teams on a hub are kept.

Examples:
  swarm gc --dry-run      show what would be removed
  swarm gc                remove it
  swarm gc --unfinished   also archive teams that could still be resumed")]
pub(crate) struct GcArgs {
    /// Show what would be removed, without doing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also archive teams with open tasks or unread messages.
    #[arg(long)]
    pub(crate) unfinished: bool,
}

pub(in crate::commands) fn run(app: &App, args: &GcArgs) -> Result<()> {
    require_person(app, "gc")?;
    let spawn_context = for_stopping(app);
    let all = app.store.teams().block_on()?;
    let mut teams = all.clone();
    app.leave_out_unreachable(&mut teams);
    let runtime = runtime()?;
    let finds = runtime.block_on(async {
        if !args.dry_run {
            for team in &teams {
                record_deaths(app, team);
            }
        }
        let seen = process_list(&*app.store, &app.root)?;
        let mut finds = Vec::new();
        // The scratchpads of teams that were left out are not known.
        if teams.len() == all.len() {
            finds.extend(scratchpads(app, &teams, args));
        }
        finds.extend(placeholders(app, &teams, args.dry_run));
        for team in teams {
            team_and_panes(spawn_context.team(&team), &seen, args, &mut finds)
                .await
                .unwrap_or_else(|failure| {
                    finds.push(find(
                        GcAction::Keep,
                        format!("team {team}"),
                        failure.message,
                    ));
                });
        }
        orphans(&spawn_context, args, &mut finds).await;
        match files(&spawn_context, args) {
            Ok(files) => finds.extend(files),
            Err(failure) => {
                let what = "leftover files in the teams directory".to_owned();
                finds.push(find(GcAction::Keep, what, failure.message));
            }
        }
        finds.extend(sockets(&spawn_context, args));
        finds.extend(work_trees(app));
        Ok::<_, Failure>(finds)
    })?;
    runtime.shutdown_background();
    report(app, finds, args.dry_run)
}

fn scratchpads(app: &App, teams: &[TeamName], args: &GcArgs) -> Vec<Find> {
    let now = std::time::SystemTime::now();
    let stale = stale_scratchpads(&*app.store, teams, &app.root, now);
    let finds = stale.into_iter().map(|path| {
        let why = "a scratchpad that no team uses and that has not changed for 30 days".to_owned();
        let mut one = find(GcAction::Remove, path.display().to_string(), why);
        if !args.dry_run {
            let removed = swarm_os::remove_tree(&path).map_err(anyhow::Error::from);
            one.failure = removed.err().map(Failure::from);
        }
        one
    });
    finds.collect()
}

/// Reports worktrees of this repository whose team no longer exists; they may contain changes.
fn work_trees(app: &App) -> Vec<Find> {
    let left = abandoned(&spawn_context::worktrees(app), &*app.store, &app.env.cwd);
    let tell = |listed: swarm_worktree::ListedWorktree| {
        let what = format!("worktree {}", listed.record.path.display());
        let why = format!(
            "the team of {} no longer exists; it is {}, and `swarm worktree prune` removes it if it has no changes",
            listed.record.owner.describe(),
            listed.condition.name()
        );
        find(GcAction::Keep, what, why)
    };
    left.into_iter().map(tell).collect()
}

/// Stops processes of dead members and records their deaths. A team whose records cannot be changed
/// is judged by its existing records.
fn record_deaths(app: &App, team: &TeamName) {
    if let Err(error) = swarm_team::reconcile(&app.store.team(team)) {
        tracing::warn!(%team, %error, "deaths not recorded");
    }
}

async fn team_and_panes(
    supervised: SupervisedTeam<'_>,
    seen: &[SeenProcess],
    args: &GcArgs,
    finds: &mut Vec<Find>,
) -> Result<()> {
    let (context, team) = (supervised.context, supervised.name);
    let store = &*context.store;
    // Only the program that created the team can repair it.
    if store.team(team).is_foreign().await {
        return Ok(());
    }
    let config = match store.team(team).config().await {
        Ok(config) => config,
        // The team was deleted after the names were listed.
        Err(StoreError::TeamNotFound { .. }) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::Damaged => {
            let why = format!("{error}; `swarm team delete {team} --force` removes the team");
            finds.push(find(GcAction::Keep, format!("team {team}"), why));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    match verdict(store, &config, seen, args.unfinished, context.clock.now())? {
        Verdict::InUse => {}
        Verdict::Kept(why) => finds.push(find(GcAction::Keep, format!("team {team}"), why)),
        Verdict::Dead(why) => {
            let mut dead = find(GcAction::Archive, format!("team {team}"), why);
            if !args.dry_run {
                dead.failure = archive(supervised).await.err();
            }
            finds.push(dead);
            return Ok(());
        }
    }
    let left = supervised.left_panes().await?;
    close(&left, "its member has left the team", args, finds).await;
    Ok(())
}

/// Closes panes of teams whose directory was removed.
async fn orphans(spawn_context: &SpawnContext, args: &GcArgs, finds: &mut Vec<Find>) {
    let (store, root) = (&*spawn_context.store, &*spawn_context.root);
    let left = orphaned_panes(store, root, &spawn_context.terminal).await;
    close(&left, "its team no longer exists", args, finds).await;
}

async fn close(panes: &[LeftPane], why: &str, args: &GcArgs, finds: &mut Vec<Find>) {
    for left in panes {
        let TaggedPane {
            pane, member, team, ..
        } = &left.tagged;
        let what = format!("pane {} of {member}@{team}", pane.id);
        let mut one = find(GcAction::Close, what, why.to_owned());
        if !args.dry_run {
            one.failure = left.close().await.err().map(Failure::from);
        }
        finds.push(one);
    }
}

/// The store checks again under its lock and refuses if a member or lead is running.
async fn archive(team: SupervisedTeam<'_>) -> Result<()> {
    team.clear_dead().await?;
    team.files().delete(false, false).await?;
    Ok(())
}

fn files(spawn_context: &SpawnContext, args: &GcArgs) -> Result<Vec<Find>> {
    let swept = spawn_context.store.sweep(!args.dry_run).block_on()?;
    let finds = swept.into_iter().map(|(left, removed)| Find {
        failure: removed.err().map(Failure::from),
        ..find(
            GcAction::Remove,
            left.path.display().to_string(),
            left.what.to_owned(),
        )
    });
    Ok(finds.collect())
}

fn sockets(spawn_context: &SpawnContext, args: &GcArgs) -> Vec<Find> {
    let dead = dead_sockets(&spawn_context.terminal.own_socket_dir);
    let finds = dead.into_iter().map(|socket| {
        let why = "the socket of a stopped swarm tmux server".to_owned();
        let mut one = find(GcAction::Remove, socket.display().to_string(), why);
        if !args.dry_run {
            one.failure = std::fs::remove_file(&socket).err().map(Failure::from);
        }
        one
    });
    finds.collect()
}

//! `swarm team delete`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, MemberName, PERSON, TeamName};
use swarm_store::{BlockOn as _, StoreError, Team};
use swarm_supervisor::{StopOptions, StopReport};
use swarm_ui::clean_line;

use crate::app::App;
use crate::commands::stop::{saying_who, tell_left, who_lives};
use crate::commands::{run_until_ctrl_c, runtime};
use crate::failure::{Failure, Result};
use crate::spawn_context::for_stopping;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Fails while members are running, unless `--force` is given. A team on a hub is deleted for all machines, and nothing of it \
is archived.

Examples:
  swarm team delete parser
  swarm team delete parser --force   stop its members first")]
pub(crate) struct TeamDeleteArgs {
    /// Team [default: as for `--team`].
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: Option<String>,
    /// Stop running members first, without asking them.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not archive tasks and journal.
    #[arg(long)]
    pub(crate) purge: bool,
}

pub(super) fn run(app: &App, args: &TeamDeleteArgs) -> Result<()> {
    let team = match meant(app, args) {
        Err(failure) if args.force => match damage(app, args, failure) {
            Ok(damage) => return delete_damaged(app, args, asked_for(app, args)?, damage),
            Err(failure) => return Err(failure),
        },
        named => named?,
    };
    let name = team.name();
    let is_on_hub = app.hubs.hub_of(name)?.is_some();
    // Checked before any change: a team is deleted completely or not at all.
    team.may_delete(args.force).block_on()?;
    team.adopt().block_on()?;
    let mut stopped = Vec::new();
    let archive = if args.force {
        match delete_by_force(app, args.purge, &*team, &mut stopped) {
            // The journal cannot be written, for example on a full disk; deleting the team may free
            // the space.
            Err(failure) if failure.kind == ErrorKind::Environment => {
                return delete_damaged(app, args, Some(name.clone()), failure);
            }
            deleted => deleted?,
        }
    } else {
        clear(app, &*team, &mut stopped)?;
        remove(&*team, args.purge, false)??
    };
    let left = stopped.iter().filter_map(|one| {
        let why = one.pane_left.as_ref()?;
        Some(json!({ "member": one.member, "reason": why }))
    });
    let panes: Value = left.collect();
    show(app, name, archive.as_deref(), &stopped, &panes)?;
    if is_on_hub {
        app.out.say(&format!(
            "{name} is deleted for all machines, and nothing of it is archived"
        ));
    }
    Ok(())
}

/// Selects the team to delete; never guesses between several.
fn meant(app: &App, args: &TeamDeleteArgs) -> Result<Arc<dyn Team>> {
    match &args.name {
        None => app.team_to_end(),
        named_by => app.named_team(named_by.as_deref()),
    }
}

/// Returns why a team cannot be read if its directory can still be removed; otherwise the original
/// error.
fn damage(app: &App, args: &TeamDeleteArgs, failure: Failure) -> Result<Failure> {
    if failure.kind == ErrorKind::Damaged {
        return Ok(failure);
    }
    let team = args.name.as_deref().map(TeamName::parse).transpose()?;
    match team {
        // A hub that can be reached has to be asked before.
        Some(team) if app.hubs.hub_of(&team)?.is_some() => match failure.kind {
            ErrorKind::NotFound => Ok(failure),
            _ => Err(failure),
        },
        Some(team) if app.store.team(&team).is_stored().block_on()? => Ok(Failure::new(
            ErrorKind::Damaged,
            format!("team {team} has a directory but no roster"),
        )),
        _ => Err(failure),
    }
}

/// Returns the team named by the command line or the environment.
fn asked_for(app: &App, args: &TeamDeleteArgs) -> Result<Option<TeamName>> {
    match &args.name {
        Some(name) => Ok(Some(TeamName::parse(name)?)),
        None => app.asked_team(),
    }
}

/// Deletes a team with an unreadable roster: its processes are found by their environment, its
/// panes by the journal.
fn delete_damaged(
    app: &App,
    args: &TeamDeleteArgs,
    team: Option<TeamName>,
    damage: Failure,
) -> Result<()> {
    let Some(team) = team else {
        return Err(damage);
    };
    let files = app.store.team(&team);
    let lease = files.lease(&MemberName::lead()).block_on();
    let is_gone = matches!(lease, Err(StoreError::NotOnHub { .. }));
    if !is_gone && lease? == Liveness::Alive {
        return Err(damage.with_hint("its lead is running: stop it first"));
    }
    if is_gone {
        app.out.say(&format!(
            "{team} was no longer on its hub; only its files here are removed"
        ));
    } else {
        app.out
            .say(&format!("swarm: {}", clean_line(&damage.message)));
    }
    let spawn_context = for_stopping(app);
    let supervised = spawn_context.team(&team);
    let runtime = runtime()?;
    let left = runtime.block_on(supervised.end_without_roster())?;
    if left.processes > 0 {
        let message = format!(
            "{} processes of {team} could not be terminated",
            left.processes
        );
        return Err(Failure::new(ErrorKind::Internal, message)
            .with_hint("run `swarm ps` to list them, then retry"));
    }
    let archive = files.delete(args.purge, true).block_on()?;
    let panes_left = if is_gone {
        runtime.block_on(supervised.close_orphaned_panes())
    } else {
        left.panes
    };
    for pane in &panes_left {
        app.out.warn(pane);
    }
    let panes = panes_left.iter().map(|why| json!({ "reason": why }));
    show(app, &team, archive.as_deref(), &[], &panes.collect())
}

/// How long new spawns are stopped while a team is deleted by force.
const STORM: Duration = Duration::from_secs(30);

/// Stops every member and deletes the team; repeats for members that join meanwhile, because
/// deleting a team with a running member would orphan its processes and pane.
fn delete_by_force(
    app: &App,
    purge: bool,
    team: &dyn Team,
    stopped: &mut Vec<StopReport>,
) -> Result<Option<PathBuf>> {
    let until = Instant::now() + STORM;
    loop {
        stopped.extend(end_members(app, team)?);
        clear(app, team, stopped)?;
        match remove(team, purge, false)? {
            Err(StoreError::TeamBusy { members, .. }) if are_of_others(team, &members)? => {
                // Their state is unknown, and swarm did not start them.
                return Ok(remove(team, purge, true)??);
            }
            Err(StoreError::TeamBusy { .. }) if Instant::now() < until => {}
            done => return Ok(done?),
        }
    }
}

/// Returns whether all remaining members belong to other programs.
fn are_of_others(team: &dyn Team, members: &[MemberName]) -> Result<bool> {
    let config = team.config().block_on()?;
    let is_other = |name: &MemberName| config.member(name).is_some_and(|one| one.swarm.is_none());
    Ok(members.iter().all(is_other))
}

/// Deletes the files of a team. Returns the archive.
fn remove(
    team: &dyn Team,
    purge: bool,
    force: bool,
) -> Result<Result<Option<PathBuf>, StoreError>> {
    run_until_ctrl_c(|| standing(team, &[]), team.delete(purge, force))
}

/// Removes dead members from the roster and cleans up after them.
fn clear(app: &App, team: &dyn Team, stopped: &mut Vec<StopReport>) -> Result<()> {
    let spawn_context = for_stopping(app);
    // A handled Ctrl-C no longer terminates this process by itself.
    let clearing = spawn_context.team(team.name()).clear_dead();
    let cleared = run_until_ctrl_c(|| standing(team, &[]), clearing)??;
    for one in &cleared {
        tell_left(app, one);
    }
    stopped.extend(cleared);
    Ok(())
}

fn end_members(app: &App, team: &dyn Team) -> Result<Vec<StopReport>> {
    let spawn_context = for_stopping(app);
    let options = StopOptions::now(Some("the team is deleted".to_owned()), PERSON);
    let config = team.config().block_on()?;
    let ours = config.teammates().filter(|member| member.swarm.is_some());
    let names: Vec<MemberName> = ours.map(|member| member.name.clone()).collect();
    let ending = spawn_context.team(team.name()).shutdown(&options);
    let waiting = saying_who(app, team, &names, options.timeout, ending);
    let ended = run_until_ctrl_c(|| standing(team, &names), waiting)??;
    for stopped in &ended.stopped {
        app.out.say(&stopped.sentence());
        tell_left(app, stopped);
    }
    match ended.failed.into_iter().next() {
        Some((_, error)) => Err(error.into()),
        None => Ok(ended.stopped),
    }
}

/// Returns the error for an interrupted deletion.
fn standing(team: &dyn Team, names: &[MemberName]) -> Failure {
    let asked = who_lives(team, names).map_or_else(String::new, |alive| {
        format!("; asked to stop after the turn: {alive}")
    });
    let team = team.name();
    let message = format!("interrupted: {team} is not deleted{asked}");
    Failure::interrupted(message).with_hint(format!(
        "`swarm team delete {team} --force` continues, `swarm status --team {team}` shows the remaining members"
    ))
}

fn show(
    app: &App,
    team: &TeamName,
    archive: Option<&Path>,
    stopped: &[StopReport],
    panes_left: &Value,
) -> Result<()> {
    let trees = stopped.iter().filter_map(|one| one.worktree.as_ref());
    let document = json!({
        "name": team,
        "state": "deleted",
        "archive": archive,
        "panesLeft": panes_left,
        "worktrees": trees.collect::<Vec<_>>(),
    });
    let text = match archive {
        Some(archive) => format!(
            "{team} is deleted; its tasks and journal are in {}",
            archive.display()
        ),
        None => format!("{team} is deleted"),
    };
    app.out.result(&document, &text)
}

//! `swarm worktree merge`.

use std::process::ExitCode;

use serde_json::json;
use swarm_os::LockInterrupt;
use swarm_protocol::{AgentId, ErrorKind, TaskStatus};
use swarm_store::BlockOn as _;
use swarm_supervisor::{merge_error, wait_for_target};
use swarm_team::{MergeError, MergeRetries, MergeRetry, shell_in_merge};
use swarm_tools::run_check;
use swarm_worktree::{
    Condition, MergeCandidate, MergeOutcome, Merged, RemoteState, Slug, WorktreeError, Worktrees,
};
use tokio_util::sync::CancellationToken;

use super::published::{fetch, uncommitted_there};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::runtime;
use crate::commands::task::check_shell;
use crate::failure::Failure;
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

pub(super) fn run(app: &App, args: &WorktreeMergeArgs) -> Result<ExitCode, Failure> {
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
    for slug in slugs {
        match merged(app, &worktrees, &slug, args.no_checks, &mut retries) {
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
            Err(NotMerged {
                failure, conflicts, ..
            }) => {
                let mut record = failure.to_json();
                record["slug"] = json!(slug);
                record["outcome"] = json!("failed");
                record["conflicts"] = json!(conflicts);
                records.push(record);
                failures.push(failure);
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

/// Why a worktree was not merged.
struct NotMerged {
    failure: Failure,
    /// The files of a conflict.
    conflicts: Option<Vec<String>>,
    /// Why the merge itself is refused.
    refusal: Option<Box<MergeError>>,
}

impl From<WorktreeError> for NotMerged {
    fn from(error: WorktreeError) -> Self {
        let conflicts = match &error {
            WorktreeError::Conflict { files, .. } => Some(files.clone()),
            _ => None,
        };
        Self {
            conflicts,
            refusal: Some(Box::new(merge_error(&error))),
            failure: Failure::from(error),
        }
    }
}

impl From<Failure> for NotMerged {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            conflicts: None,
            refusal: None,
        }
    }
}

/// Merges a worktree, if the checks of its owner's open tasks pass. Attempts it again if its target
/// moves, and waits while the checkout of the target has uncommitted changes.
fn merged(
    app: &App,
    worktrees: &Worktrees,
    slug: &Slug,
    no_checks: bool,
    retries: &mut MergeRetries,
) -> Result<(Merged, Option<RemoteState>), NotMerged> {
    retries.begin_merge();
    loop {
        let refused = match try_merge(app, worktrees, slug, no_checks) {
            Ok(merged) => return Ok(merged),
            Err(refused) => refused,
        };
        let retry = refused
            .refusal
            .as_deref()
            .and_then(|why| retries.after(why));
        match retry {
            Some(MergeRetry::Immediate) => {}
            Some(MergeRetry::AfterWait { awaited, within }) => {
                app.out.say(&format!(
                    "waiting for {awaited}; commit or stash them there"
                ));
                let cancel = CancellationToken::new();
                let waited = wait_for_target(worktrees, &app.env.cwd, slug, within, &cancel);
                runtime()?.block_on(waited)?;
            }
            None => return Err(refused),
        }
    }
}

fn try_merge(
    app: &App,
    worktrees: &Worktrees,
    slug: &Slug,
    no_checks: bool,
) -> Result<(Merged, Option<RemoteState>), NotMerged> {
    let interrupt = LockInterrupt::default();
    let on_wait = || {
        app.out.say("waiting for another merge of this repository");
    };
    let mut candidate = worktrees.merge_candidate(&app.env.cwd, slug, &interrupt, &on_wait)?;
    if !no_checks {
        run_checks(app, &mut candidate)?;
    }
    let remote = candidate.record().remote.clone();
    Ok((candidate.apply()?, remote))
}

/// Splits worktrees into unused ones and those in use.
fn at_rest(app: &App, worktrees: &Worktrees) -> Result<(Vec<Slug>, Vec<Slug>), Failure> {
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

/// Runs the checks of the owner's open tasks on a merge. Fails at the first that does not pass.
pub(super) fn run_checks(app: &App, candidate: &mut MergeCandidate) -> Result<(), Failure> {
    let owner = candidate.record().owner.clone();
    let (Some(team), Some(member), None) = (owner.team, owner.member, owner.agent) else {
        return Ok(());
    };
    let files = app.store.team(&team);
    // The team may be gone.
    let Ok(tasks) = files.tasks().block_on() else {
        return Ok(());
    };
    let owner = AgentId::new(member, team);
    let worktree = candidate.record().path.clone();
    let is_open = |task: &&swarm_protocol::Task| {
        task.is_owned_by(&owner) && task.status != TaskStatus::Completed
    };
    // One for all checks: a task's shell keeps its sandbox, whose proxy runs on this runtime.
    let runtime = runtime()?;
    for task in tasks.tasks.iter().filter(is_open) {
        let Some(shell) = check_shell(app, &*files, task.id)? else {
            continue;
        };
        let merge = candidate.check_out()?;
        let shell = shell_in_merge(&shell, &worktree, &merge);
        for check in &task.swarm().checks {
            let ran = runtime.block_on(run_check(&check.command, &shell));
            let why = match ran {
                Ok(ran) if ran.exit_code == Some(0) => continue,
                Ok(ran) => format!("failed:\n{}", ran.output),
                Err(why) => format!("did not run: {why}"),
            };
            let message = format!(
                "{} was not merged: check `{}` of task #{} {why}",
                candidate.record().branch,
                check.command,
                task.id
            );
            return Err(
                Failure::new(ErrorKind::Refused, message).with_hint("`--no-checks` merges anyway")
            );
        }
    }
    Ok(())
}

//! Merges that members on other machines order from the process of the lead.

use swarm_protocol::{ErrorKind, MemberName, PublishedBranch};
use swarm_store::{BlockOn as _, Draft, StoreLimits, Team};
use swarm_supervisor::{
    MergeCarrier, MergeOrder, MergeReply, SentTarget, TakenMerge, fetch_published,
};
use swarm_team::{MergeError, MergeRetries};
use swarm_worktree::{MergeCandidate, MergeMode, Slug, Worktrees};

use super::merging::{Checks, Merge, NotMerged};
use crate::app::App;
use crate::commands::runtime;
use crate::failure::{Failure, Result};
use crate::output::captured;
use crate::spawn_context::worktrees;

/// Carries them out as `swarm worktree merge` does.
pub(in crate::commands) struct PublishedMerges(pub(in crate::commands) App);

impl MergeCarrier for PublishedMerges {
    fn merge(&self, taken: &TakenMerge) -> MergeReply {
        // The terminal is that of the lead.
        let (reply, _) = captured(|| self.try_merge(taken));
        reply.unwrap_or_else(|failure| MergeReply::refused(failure.message))
    }
}

impl PublishedMerges {
    fn try_merge(&self, taken: &TakenMerge) -> Result<MergeReply> {
        let (team, order) = (&*taken.team, &taken.merge);
        let (app, worktrees) = (&self.0, worktrees(&self.0));
        if team.is_joined() {
            let why = "the team was created on another machine than that of its lead";
            return Ok(MergeReply::LeftToPerson(why.to_owned()));
        }
        if worktrees.settings().merge == MergeMode::Manual {
            let why = "`worktree.merge` is manual on the machine of the lead";
            return Ok(MergeReply::LeftToPerson(why.to_owned()));
        }
        let fetched = runtime()?.block_on(fetch_published(team, &worktrees, &app.env.cwd))?;
        let of_member = |branch: &PublishedBranch| branch.member == order.member;
        if let Some(failed) = fetched.iter().find(|failed| of_member(&failed.branch)) {
            let why = failed.why.to_string();
            let text = format!(
                "{}'s work for task #{} was published and not merged: {why}. Merge it with `swarm worktree merge {}` in a clone of \
                 the repository.",
                order.member, order.task, failed.branch.worktree
            );
            tell_lead(team, text);
            return Ok(MergeReply::LeftToPerson(why));
        }
        let published = team.published_branches().block_on()?;
        let Some(branch) = published.into_iter().find(of_member) else {
            return Ok(MergeReply::refused("its branch is not published"));
        };
        if !branch.uncommitted.is_empty() {
            return Ok(MergeReply::refused(format!(
                "{} was not merged: its worktree has uncommitted changes: {}; commit or discard them",
                branch.branch,
                branch.uncommitted.join(", ")
            )));
        }
        let slug = Slug::parse(&branch.worktree)?;
        let merge = Merge {
            app,
            worktrees: &worktrees,
            checks: Checks::OfTask(order.task),
            permit: &|candidate| permit(taken, candidate),
            on_wait: &|awaited| tell_of_wait(team, order, awaited),
        };
        let mut retries = MergeRetries::new(worktrees.settings().merge_wait);
        match merge.run(&slug, &mut retries) {
            Ok(_) => Ok(MergeReply::Merged),
            Err(not_merged) => refused(app, team, &worktrees, &branch, not_merged),
        }
    }
}

/// Requires that the order is still valid, and that the candidate is what the member completes its
/// task with.
fn permit(taken: &TakenMerge, candidate: &MergeCandidate) -> Result<()> {
    let why = match runtime()?.block_on(taken.why_void())? {
        Some(why) => why,
        None if candidate.tip() == taken.merge.commit => return Ok(()),
        None => format!(
            "{} has other commits by now; complete the task again",
            candidate.record().branch
        ),
    };
    Err(Failure::new(ErrorKind::Refused, why))
}

fn refused(
    app: &App,
    team: &dyn Team,
    worktrees: &Worktrees,
    branch: &PublishedBranch,
    not_merged: NotMerged,
) -> Result<MergeReply> {
    let why = not_merged.failure.message;
    let awaited = match not_merged.refusal.as_deref() {
        Some(MergeError::TargetChanged { awaited, .. }) => Some(awaited.clone()),
        _ => None,
    };
    let limit = StoreLimits::default().max_blob_bytes;
    let target = match not_merged.conflicts {
        Some(_) => worktrees.export_target(&app.env.cwd, branch, limit)?,
        None => None,
    };
    let target = target.map(|target| -> Result<_> {
        Ok(SentTarget {
            branch: target.branch,
            commit: target.commit,
            bundle: team.put_blob(target.bundle).block_on()?,
        })
    });
    Ok(MergeReply::Refused {
        why,
        awaited,
        target: target.transpose()?,
    })
}

/// Only a person at this machine can end the wait.
fn tell_of_wait(team: &dyn Team, order: &MergeOrder, awaited: &str) {
    let MergeOrder { member, task, .. } = order;
    let text = format!(
        "The merge of {member}'s work for task #{task} waits for {awaited}. The task is completed once they are committed \
         or stashed there."
    );
    tell_lead(team, text);
}

fn tell_lead(team: &dyn Team, text: String) {
    let lead = MemberName::lead();
    let told = team.send(&lead, Draft::system(text).summarized());
    if let Err(error) = told.block_on() {
        tracing::warn!(%error, "lead not told about a merge");
    }
}

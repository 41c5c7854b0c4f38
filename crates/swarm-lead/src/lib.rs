//! The team lead: spawn, supervision, permission broker, team life cycle.

mod census;
mod deployment;
mod error;
mod handover;
mod leadership;
mod leftovers;
mod merger;
mod off_thread;
mod reconcile;
mod run;
mod spawn;
mod stop;
mod supervise;
mod team_tools;

#[cfg(test)]
mod tests;

pub use census::{
    LeadStanding, ProcessKind, Reaped, Seen, Standing, Stray, census, lead_marks, lead_standing,
    reap,
};
pub use deployment::{Deployment, ProcessIdentity, ResolveModel, RuleTexts};
pub use error::LeadError;
pub use handover::{DeadMember, Handover, Restored, bring_back, handover};
pub use leadership::{Leadership, implicit_team_name};
pub use leftovers::{LeftPane, Verdict, dead_sockets, left_panes, orphaned_panes, verdict};
pub use merger::WorktreeMerger;
pub use run::{LeadParts, MemberLine, Outcome, RunReport, TaskLine, run_headless};
pub use spawn::{SpawnOptions, SpawnedMember, WorktreeWish, spawn};
pub use stop::{
    EndedTeam, FORCED_PATIENCE, LeftOfTeam, LeftWorktree, StopOptions, StopOutcome, Stopped,
    clear_dead, dead_namesake, end_leftovers_of_lead, end_team, end_without_roster, kill, namesake,
    shutdown,
};

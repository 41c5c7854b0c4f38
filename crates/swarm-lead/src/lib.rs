//! The team lead: spawn, supervision, permission broker, team life cycle.

mod deployment;
mod error;
mod leadership;
mod run;
mod spawn;
mod stop;
mod supervise;
mod team_tools;

#[cfg(test)]
mod tests;

pub use deployment::{Deployment, ProcessIdentity, ResolveModel, RuleTexts};
pub use error::LeadError;
pub use leadership::{Leadership, implicit_team_name};
pub use run::{LeadParts, MemberLine, Outcome, RunReport, TaskLine, run_headless};
pub use spawn::{SpawnOptions, SpawnedMember, spawn};
pub use stop::{
    EndedTeam, StopOptions, StopOutcome, Stopped, clear_dead, dead_namesake, end_team, kill,
    shutdown,
};

//! The arguments as they are typed.

mod agents;
mod command;
mod config;
mod demo;
mod instructions;
mod look;
mod mail;
mod overview;
mod planned;
mod recovery;
mod request;
mod run;
mod shell;
mod spawn;
mod stop;
mod task;
mod team;
mod trust;
mod unquoted;
mod worktree;

pub(crate) use agents::{AgentsCommand, AgentsShowArgs};
pub(crate) use command::{Args, Command, GlobalArgs};
pub(crate) use config::{ConfigCommand, ConfigListArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use instructions::InstructionsArgs;
pub(crate) use look::{AttachArgs, LogArgs, LogsArgs, PeekArgs, StatusArgs};
pub(crate) use mail::{InboxArgs, SendArgs, WaitFor};
pub(crate) use planned::planned;
pub(crate) use recovery::{GcArgs, ReapArgs, ResumeArgs};
pub(crate) use request::{ApproveArgs, DenyArgs, PermissionsArgs};
pub(crate) use run::{OutputFormat, RunArgs};
pub(crate) use shell::{CompletionsArgs, ManArgs, Shell};
pub(crate) use spawn::SpawnArgs;
pub(crate) use stop::{ContinueArgs, KillArgs, MemberWord, PauseArgs, ShutdownArgs, Whom};
pub(crate) use task::{TaskClaimArgs, TaskCommand, TaskCreateArgs, TaskListArgs, TaskUpdateArgs};
pub(crate) use team::{TeamCommand, TeamCreateArgs, TeamDeleteArgs};
pub(crate) use trust::TrustArgs;
pub(crate) use unquoted::with_tip;
pub(crate) use worktree::{WorktreeCommand, WorktreeMergeArgs, WorktreeRemoveArgs};

#[cfg(test)]
mod shown;
#[cfg(test)]
mod tests;

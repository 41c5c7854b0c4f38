//! The arguments as they are typed.

mod command;
mod demo;
mod look;
mod mail;
mod request;
mod run;
mod spawn;
mod stop;
mod task;
mod team;

pub(crate) use command::{Args, Command, GlobalArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use look::{AttachArgs, LogArgs, LogsArgs, PeekArgs, StatusArgs};
pub(crate) use mail::{InboxArgs, SendArgs, WaitFor};
pub(crate) use request::{ApproveArgs, DenyArgs};
pub(crate) use run::{OutputFormat, RunArgs};
pub(crate) use spawn::SpawnArgs;
pub(crate) use stop::{KillArgs, ShutdownArgs, Whom};
pub(crate) use task::{TaskClaimArgs, TaskCommand, TaskCreateArgs, TaskUpdateArgs};
pub(crate) use team::{TeamCommand, TeamCreateArgs, TeamDeleteArgs};

#[cfg(test)]
mod tests;

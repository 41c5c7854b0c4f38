//! `swarm task …`.

mod check_shell;
mod claim;
mod create;
mod dispatch;
mod file;
mod list;
mod record;
mod remove;
mod show;
mod undelivered;
mod update;

pub(in crate::commands) use check_shell::check_shell;

pub(super) use dispatch::{TaskCommand, run};
pub(super) use record::{record, table};
pub(super) use undelivered::{undelivered, warn_undelivered};

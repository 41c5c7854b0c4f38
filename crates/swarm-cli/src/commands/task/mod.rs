//! `swarm task …`.

mod claim;
mod create;
mod dispatch;
mod file;
mod list;
mod record;
mod update;

pub(in crate::commands) use update::check_shell;

pub(super) use dispatch::{TaskCommand, run};
pub(super) use record::{record, table, undelivered, warn_undelivered};

//! `swarm task …`.

mod claim;
mod create;
mod dispatch;
mod file;
mod list;
mod notify;
mod record;
mod remove;
mod show;
mod update;

pub(super) use dispatch::{TaskCommand, run};
pub(super) use record::{record, table};

//! `swarm team …`.

mod create;
mod delete;
mod dispatch;
mod external;
mod list;
mod show;

pub(super) use dispatch::{TeamCommand, run};
pub(super) use list::state_in;

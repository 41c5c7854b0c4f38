//! `swarm hub …`, and the options that name a hub.

mod address;
mod dispatch;
mod server_config;
mod start;

pub(crate) use address::{HubArgs, HubFiles};
pub(super) use dispatch::{HubCommand, run};

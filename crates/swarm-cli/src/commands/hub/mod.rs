//! `swarm hub …`, and the options that name a hub.

mod address;
mod dispatch;
mod server_config;
mod start;

pub(crate) use address::{HUB_OF_NODES, HubArgs, HubFiles};
pub(super) use address::{hub_failure, hub_of_settings};
pub(super) use dispatch::{HubCommand, run};
pub(super) use server_config::LOG as HUB_LOG;
pub(super) use start::find_server as find_hub_server;

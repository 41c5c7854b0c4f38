//! A team on a hub whose links are cut and whose processes are killed.

mod machines;
mod network;
mod nodes;
mod racers;
mod run;
mod workers;

pub use network::in_own_network;
pub use run::{HubReport, HubRun};

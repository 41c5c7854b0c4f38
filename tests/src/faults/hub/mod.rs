//! A team on a hub whose links are cut and whose processes are killed.

mod machines;
mod run;
mod workers;

pub use run::{HubReport, HubRun};

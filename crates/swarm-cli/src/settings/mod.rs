//! Settings: which there are, where each may come from, and what is in force.

mod file;
mod given;
mod keys;
mod kind;
mod listing;
mod load;
mod nearest;
mod places;
mod sources;
mod variables;

pub(crate) use given::{Given, Layer, Place};
pub(crate) use keys::Settings;
pub(crate) use listing::{Fate, Listed};
pub(crate) use places::{Places, repository_folders};
pub(crate) use swarm_fs::repository_top;

#[cfg(test)]
mod tests;

//! Spawning a member: reserve, pane, hello, commit; any failure undoes everything.

mod attempt;
mod await_hello;
mod options;
mod order;
mod steps;

#[cfg(test)]
mod tests;

pub use options::{SpawnOptions, SpawnedMember};
pub use steps::spawn;

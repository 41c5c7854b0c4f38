//! Agent definitions: where they are looked for, and how they are read.

mod built_in;
mod directory;
mod gather;
mod places;
mod plugins;

pub use gather::{FoundAgents, Looking, gather};
pub use plugins::{EnabledPlugins, unused_parts};

#[cfg(test)]
mod tests;

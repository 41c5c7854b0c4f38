//! Agent definitions: where they are looked for, and how they are read.

mod built_in;
mod folder;
mod gather;
mod places;
mod plugins;

pub(crate) use gather::{FoundAgents, Looking, gather};

#[cfg(test)]
mod tests;

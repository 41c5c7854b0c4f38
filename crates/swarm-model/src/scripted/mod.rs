//! A model that plays a scenario file: for demos without a key and for tests of everything around a
//! model.
//!
//! It is stateless: each answer depends only on the messages of the request, so a process that
//! restarts in the middle of a conversation gets the same answer. The format is described in
//! `docs/scenarios.md`.

mod file;
mod load;
mod pace;
mod play;
mod position;
mod scenario;
mod situation;
mod template;

#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod load_tests;
#[cfg(test)]
mod play_tests;

pub use pace::Pace;
pub(crate) use play::ScriptedModel;
pub use scenario::ScenarioError;

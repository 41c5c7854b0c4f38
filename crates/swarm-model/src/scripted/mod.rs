//! A model that plays a scenario file: for demos without a key and for tests of everything around a model.
//!
//! It keeps no state. Each answer follows from the request's messages alone, so a process that starts again
//! in the middle of a conversation gets the answer it would have got. The format is described in
//! `docs/scenarios.md`.

mod conditions;
mod error;
mod file;
mod load;
mod pace;
mod play;
mod position;
mod scenario;
mod situation;
mod template;

#[cfg(test)]
mod load_tests;
#[cfg(test)]
mod play_tests;

pub use error::ScenarioError;
pub use pace::Pace;
pub use play::ScriptedModel;

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

pub use given::{Given, Layer, ValuePlace};
pub use keys::Settings;
pub use kind::AnswerInPlace;
pub use listing::{ListedSetting, Origin, SettingOutcome};
pub use places::{Places, repository_directories};

#[cfg(test)]
mod tests;

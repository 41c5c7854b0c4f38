//! Settings: the table of settings, their sources and effective values.

mod edit;
mod file;
mod given;
mod keys;
mod kind;
mod listing;
mod nearest;
mod places;
mod policy;
mod variables;

pub use edit::NewSetting;
pub use given::{Layer, SettingValue, ValueLocation};
pub use keys::Settings;
pub use listing::{ListedSetting, Origin, SettingOutcome};
pub(crate) use nearest::NearestValue;
pub use places::{SettingsFiles, repository_directories};

#[cfg(test)]
mod tests;

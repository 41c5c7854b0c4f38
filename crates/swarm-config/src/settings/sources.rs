//! All given values.

use super::given::SettingValue;

/// All given values, weakest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources(Vec<SettingValue>);

impl Sources {
    pub(super) fn new(mut given: Vec<SettingValue>) -> Self {
        given.sort_by_key(|given| given.layer);
        Self(given)
    }

    /// Adds values that are weaker than the existing ones of the same layer.
    pub(super) fn with(self, further: Vec<SettingValue>) -> Self {
        Self::new(further.into_iter().chain(self.0).collect())
    }

    /// Returns the values given to a setting, weakest first.
    pub(super) fn of(&self, name: &str) -> impl DoubleEndedIterator<Item = &SettingValue> {
        self.0.iter().filter(move |given| given.key == name)
    }
}

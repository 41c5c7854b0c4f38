//! All given values, and the effective ones.

use std::cmp::Ordering;

use serde_json::Value;

use super::given::{Layer, SettingValue};
use super::keys::{Key, SettableBy, Settings, key};
use crate::error::ConfigError;

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

    /// Returns the effective value and its source.
    pub(super) fn effective(&self, name: &str) -> Option<(Value, &SettingValue)> {
        let key = key(name)?;
        let mut effective: Option<(Value, &SettingValue)> = None;
        for given in self.of(name) {
            let weaker = effective.as_ref().map(|(value, _)| value);
            if weaker.is_none_or(|weaker| overrides(key, weaker, given)) {
                effective = Some((key.kind.merge_over(weaker, &given.value), given));
            }
        }
        effective
    }
}

/// Returns whether a value replaces the result of the weaker layers.
fn overrides(key: &Key, weaker: &Value, given: &SettingValue) -> bool {
    let limits = matches!(given.layer, Layer::Project | Layer::Managed);
    if limits && key.settable_by == SettableBy::Restrict {
        return key.kind.compare(&given.value, weaker) == Some(Ordering::Less);
    }
    true
}

impl Settings {
    /// Adds the values of other files, which are weaker than the `swarm.toml` of the same layer.
    pub fn with(self, further: Vec<SettingValue>) -> Result<Self, ConfigError> {
        Self::of(self.sources.with(further))
    }

    /// Validates the value of a flag against managed policy.
    ///
    /// # Errors
    /// [`ConfigError::Policy`], naming the policy's file.
    pub fn permit(&self, name: &str, value: impl Into<Value>) -> Result<(), ConfigError> {
        self.permit_as(name, value, Value::clone)
    }

    /// Returns whether a setting has its built-in value.
    pub fn is_built_in(&self, name: &str) -> bool {
        self.sources
            .of(name)
            .all(|given| given.layer == Layer::BuiltIn)
    }

    /// Returns the managed policy for a setting, if any.
    pub fn policy_of(&self, name: &str) -> Option<Value> {
        let mut given = self.sources.of(name);
        given
            .find(|given| given.layer == Layer::Managed)
            .map(|given| given.value.clone())
    }

    /// Like [`Settings::permit`], for a value with several notations; `read` normalizes the
    /// policy's value to the notation of `value`.
    ///
    /// # Errors
    /// [`ConfigError::Policy`], naming the policy's file.
    pub fn permit_as(
        &self,
        name: &str,
        value: impl Into<Value>,
        read: impl Fn(&Value) -> Value,
    ) -> Result<(), ConfigError> {
        let value = &value.into();
        let Some(key) = key(name) else { return Ok(()) };
        for policy in self
            .sources
            .of(name)
            .filter(|given| given.layer == Layer::Managed)
        {
            let limit = &read(&policy.value);
            let allowed = match key.settable_by {
                SettableBy::Restrict => key.kind.compare(value, limit) != Some(Ordering::Greater),
                SettableBy::User | SettableBy::Anyone => value == limit,
            };
            if !allowed {
                let at_most = if key.settable_by == SettableBy::Restrict {
                    "at most "
                } else {
                    ""
                };
                return Err(ConfigError::Policy {
                    name: name.to_owned(),
                    allowed: format!("{at_most}{}", policy.value),
                    value: value.to_string(),
                    place: policy.place.to_string(),
                });
            }
        }
        Ok(())
    }
}

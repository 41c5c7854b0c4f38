//! What the machine's policy says about settings, and further values.

use std::cmp::Ordering;

use serde_json::Value;
use swarm_protocol::ErrorKind;

use super::given::{Layer, SettingValue};
use super::keys::{SettableBy, Settings, key};
use crate::error::ConfigError;

impl Settings {
    /// Adds the values of other files, which are weaker than the `swarm.toml` of the same layer.
    pub fn with(self, further: Vec<SettingValue>) -> Result<Self, ConfigError> {
        Self::of(self.sources.with(further))
    }

    /// Validates the value of a flag against managed policy.
    ///
    /// # Errors
    /// A refusal that names the policy's file.
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
    /// A refusal that names the policy's file.
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
                let (limit, place) = (&policy.value, &policy.place);
                return Err(ConfigError::new(
                    ErrorKind::Refused,
                    format!(
                        "managed policy limits `{name}` to {at_most}{limit}, not {value} ({place})"
                    ),
                    "ask the administrator of this machine",
                ));
            }
        }
        Ok(())
    }
}

//! Everything that was given, and what of it is in force.

use std::cmp::Ordering;

use serde_json::Value;

use super::given::{Given, Layer};
use super::keys::{Key, Say, Settings, key};
use crate::error::ConfigError;

/// All values that were given, weakest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources(Vec<Given>);

impl Sources {
    pub(super) fn new(mut given: Vec<Given>) -> Self {
        given.sort_by_key(|given| given.layer);
        Self(given)
    }

    /// These with further values, each weaker than what its own layer says already.
    pub(super) fn with(self, further: Vec<Given>) -> Self {
        Self::new(further.into_iter().chain(self.0).collect())
    }

    /// Every value that was given to a setting, weakest first.
    pub(super) fn of(&self, name: &str) -> impl DoubleEndedIterator<Item = &Given> {
        self.0.iter().filter(move |given| given.key == name)
    }

    /// The value in force, and who gave it.
    pub(super) fn in_force(&self, name: &str) -> Option<(Value, &Given)> {
        let key = key(name)?;
        let mut force: Option<(Value, &Given)> = None;
        for given in self.of(name) {
            let weaker = force.as_ref().map(|(value, _)| value);
            if weaker.is_none_or(|weaker| takes_over(key, weaker, given)) {
                force = Some((key.kind.over(weaker, &given.value), given));
            }
        }
        force
    }
}

/// Whether a value replaces the one that the weaker layers agreed on.
fn takes_over(key: &Key, weaker: &Value, given: &Given) -> bool {
    let limits = matches!(given.layer, Layer::Project | Layer::Managed);
    if limits && key.say == Say::Less {
        return key.kind.compare(&given.value, weaker) == Some(Ordering::Less);
    }
    true
}

impl Settings {
    /// These settings with what other files say, which are weaker than the `swarm.toml` of the same layer.
    pub fn with(self, further: Vec<Given>) -> Result<Self, ConfigError> {
        Self::of(self.sources.with(further))
    }

    /// Refuses a value from a flag that the machine's policy does not allow.
    ///
    /// # Errors
    /// [`ConfigError::Policy`], naming the policy's file.
    pub fn permit(&self, name: &str, value: impl Into<Value>) -> Result<(), ConfigError> {
        self.permit_as(name, value, Value::clone)
    }

    /// Whether nobody has said anything about a setting: its built-in value holds.
    pub fn is_built_in(&self, name: &str) -> bool {
        self.sources
            .of(name)
            .all(|given| given.layer == Layer::BuiltIn)
    }

    /// What the machine's policy says of a setting, if it speaks of it.
    pub fn policy_of(&self, name: &str) -> Option<Value> {
        let mut given = self.sources.of(name);
        given
            .find(|given| given.layer == Layer::Managed)
            .map(|given| given.value.clone())
    }

    /// The same for a value that can be written in several ways; `read` takes what the policy says to the way in which
    /// `value` is written.
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
            let allowed = match key.say {
                Say::Less => key.kind.compare(value, limit) != Some(Ordering::Greater),
                Say::Users | Say::Anyones => value == limit,
            };
            if !allowed {
                let at_most = if key.say == Say::Less { "at most " } else { "" };
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

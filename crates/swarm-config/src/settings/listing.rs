//! Settings for display: effective values, their sources and overridden values.

use serde::Serialize;
use serde_json::Value;

use super::given::{Layer, SettingValue, Sources, ValueLocation};
use super::keys::{KEYS, Key, Settings, nearest_key};

/// A setting with its effective value. Each entry of a table is a separate setting here.
#[derive(Debug, Clone, Serialize)]
pub struct ListedSetting {
    /// `table.key`, or `table.key.entry`.
    pub key: String,
    /// The effective value.
    pub value: Value,
    /// The layer of the effective value.
    pub layer: Layer,
    /// The location of the effective value.
    pub place: ValueLocation,
    /// All given values, strongest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// A value given to a setting, and its effect.
#[derive(Debug, Clone, Serialize)]
pub struct Origin {
    /// The value.
    pub value: Value,
    /// The layer of its source.
    pub layer: Layer,
    /// Its location.
    pub place: ValueLocation,
    /// Its effect.
    pub state: SettingOutcome,
}

/// The effect of a given value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingOutcome {
    /// It is the effective value.
    InForce,
    /// A stronger layer gave another value.
    Overridden,
    /// It could only restrict the setting, but does not.
    WithoutEffect,
}

impl Settings {
    /// Lists the settings whose name is `wanted` or below it; all settings for `None`.
    pub fn list(&self, wanted: Option<&str>) -> Vec<ListedSetting> {
        let is_wanted = |key: &str| {
            wanted.is_none_or(|wanted| {
                let rest = key.strip_prefix(wanted);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let mut listed: Vec<ListedSetting> = KEYS
            .iter()
            .flat_map(|key| {
                if key.kind.is_table() {
                    self.sources.entries(key)
                } else {
                    self.sources.setting(key).into_iter().collect()
                }
            })
            .filter(|listed| is_wanted(&listed.key))
            .collect();
        listed.sort_by(|one, other| one.key.cmp(&other.key));
        listed
    }

    /// Returns the setting with the most similar name.
    pub fn nearest(name: &str) -> Option<&'static str> {
        nearest_key(name)
    }
}

impl Sources {
    fn setting(&self, key: &Key) -> Option<ListedSetting> {
        let (value, winner) = self.effective(key)?;
        let mut decided = false;
        let origins = self
            .of(key.name)
            .rev()
            .map(|given| {
                let state = match (std::ptr::eq(given, winner), decided) {
                    (true, _) => SettingOutcome::InForce,
                    (false, false) => SettingOutcome::WithoutEffect,
                    (false, true) => SettingOutcome::Overridden,
                };
                decided |= state == SettingOutcome::InForce;
                origin(given, given.value.clone(), state)
            })
            .collect();
        Some(listed(
            key.name.to_owned(),
            value.into_owned(),
            winner,
            origins,
        ))
    }

    /// Lists the entries of a table, each decided by the strongest layer that has it.
    fn entries(&self, key: &Key) -> Vec<ListedSetting> {
        let name = key.name;
        let effective = self.effective(key).map(|(value, _)| value.into_owned());
        let Some(Value::Object(table)) = effective else {
            return Vec::new();
        };
        let of_entry = |(entry, value): (String, Value)| {
            let mut state = SettingOutcome::InForce;
            let mut winner = None;
            let mut origins = Vec::new();
            for given in self.of(name).rev() {
                let Some(value) = given.value.get(&entry) else {
                    continue;
                };
                origins.push(origin(given, value.clone(), state));
                state = SettingOutcome::Overridden;
                winner = winner.or(Some(given));
            }
            Some(listed(format!("{name}.{entry}"), value, winner?, origins))
        };
        table.into_iter().filter_map(of_entry).collect()
    }
}

fn listed(key: String, value: Value, winner: &SettingValue, origins: Vec<Origin>) -> ListedSetting {
    ListedSetting {
        key,
        value,
        layer: winner.layer,
        place: winner.place.clone(),
        origins,
    }
}

fn origin(given: &SettingValue, value: Value, state: SettingOutcome) -> Origin {
    Origin {
        value,
        layer: given.layer,
        place: given.place.clone(),
        state,
    }
}

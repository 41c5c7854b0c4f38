//! Settings as they are shown: what is in force, who says so, and who else said something.

use serde::Serialize;
use serde_json::Value;

use super::given::{Given, Layer, ValuePlace};
use super::keys::{KEYS, Settings};
use super::nearest::nearest_key;
use super::sources::Sources;

/// A setting with the value in force. An entry of a table is a setting of its own here.
#[derive(Debug, Clone, Serialize)]
pub struct ListedSetting {
    /// `table.key`, or `table.key.entry`.
    pub key: String,
    /// The value in force.
    pub value: Value,
    /// Who gave it.
    pub layer: Layer,
    /// Where it stands.
    pub place: ValuePlace,
    /// All values that were given, strongest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Origin>,
}

/// A value that was given to a setting, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Origin {
    /// The value.
    pub value: Value,
    /// Who gave it.
    pub layer: Layer,
    /// Where it stands.
    pub place: ValuePlace,
    /// What became of it.
    pub state: SettingOutcome,
}

/// What became of a value that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingOutcome {
    /// It is the value in force.
    InForce,
    /// A stronger layer gave another one.
    Overridden,
    /// It may only make the setting less, and is not less.
    WithoutEffect,
}

impl Settings {
    /// Every setting whose name is `wanted` or lies below it; all of them where nothing is wanted.
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
                    self.sources.entries(key.name)
                } else {
                    self.sources.setting(key.name).into_iter().collect()
                }
            })
            .filter(|listed| is_wanted(&listed.key))
            .collect();
        listed.sort_by(|one, other| one.key.cmp(&other.key));
        listed
    }

    /// The setting that a wrong name is nearest to.
    pub fn nearest(name: &str) -> Option<&'static str> {
        nearest_key(name)
    }
}

impl Sources {
    fn setting(&self, name: &str) -> Option<ListedSetting> {
        let (value, winner) = self.in_force(name)?;
        let mut decided = false;
        let origins = self
            .of(name)
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
        Some(listed(name.to_owned(), value, winner, origins))
    }

    /// The entries of a table, each of which the strongest layer that has it decides.
    fn entries(&self, name: &str) -> Vec<ListedSetting> {
        let Some((Value::Object(table), _)) = self.in_force(name) else {
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

fn listed(key: String, value: Value, winner: &Given, origins: Vec<Origin>) -> ListedSetting {
    ListedSetting {
        key,
        value,
        layer: winner.layer,
        place: winner.place.clone(),
        origins,
    }
}

fn origin(given: &Given, value: Value, state: SettingOutcome) -> Origin {
    Origin {
        value,
        layer: given.layer,
        place: given.place.clone(),
        state,
    }
}

//! Changing one setting in the user's file.

use std::path::Path;

use serde_json::Value;
use swarm_protocol::{ErrorKind, with_causes};
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::file::{did_you_mean, parse, text_of};
use super::given::{Layer, SettingValue, ValueLocation};
use super::keys::{KEYS, Key, key, nearest_key};
use super::places::SettingsFiles;
use crate::error::ConfigError;

/// A new value for a setting, valid for it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSetting {
    key: &'static str,
    value: Value,
}

impl NewSetting {
    /// Parses a value in the format of the setting's variable: list elements are separated by commas,
    /// table entries are NAME=VALUE. The name may also be that of one entry of a table.
    ///
    /// # Errors
    /// If there is no such setting, or the text is not one of its values.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let (key, text) = match (key(name), entry(name)) {
            (Some(key), _) => (key, text.to_owned()),
            (None, Some((key, entry))) => (key, format!("{entry}={text}")),
            (None, None) => {
                return Err(ConfigError::new(
                    ErrorKind::NotFound,
                    format!(
                        "unknown setting `{}`{}",
                        name.escape_debug(),
                        did_you_mean(nearest_key(name))
                    ),
                    "run `swarm config list` to see all settings",
                ));
            }
        };
        let value = key.kind.parse(&text).ok_or_else(|| {
            let expected = key.kind.expected();
            let what = format!("`{}` must be {expected}, not {text:?}", key.name);
            ConfigError::invalid(what, "the file is unchanged")
        })?;
        Ok(Self {
            key: key.name,
            value,
        })
    }

    /// Returns the name of the setting.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// Returns the value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// Splits the name of an entry of a table, such as `model.aliases.fast`.
fn entry(name: &str) -> Option<(&'static Key, &str)> {
    let tables = KEYS.iter().filter(|key| key.kind.is_table());
    let mut split = tables.filter_map(|key| {
        let entry = name.strip_prefix(key.name)?.strip_prefix('.')?;
        Some((key, entry)).filter(|_| !entry.is_empty())
    });
    split.next()
}

impl SettingsFiles {
    /// Writes a setting to the user's file, which keeps its comments and other settings; entries of
    /// a table are added to the existing ones. Returns the setting with its line.
    ///
    /// # Errors
    /// If the file cannot be read or written, or is invalid.
    pub fn set(&self, new: &NewSetting) -> Result<SettingValue, ConfigError> {
        // A link to a file elsewhere is kept.
        let path = self.user.canonicalize();
        let path = path.as_deref().unwrap_or(&self.user);
        let before = text_of(path)?.unwrap_or_default();
        let text = edited(&before, path, new)?;
        let given = parse(&text, Layer::User, |line| {
            ValueLocation::File(self.user.clone(), line)
        })?;
        swarm_os::replace_alone(path, text.as_bytes()).map_err(|error| {
            let (path, why) = (path.display(), with_causes(&error));
            ConfigError::new(
                ErrorKind::Environment,
                format!("cannot write the settings file {path}: {why}"),
                "make the config directory writable",
            )
        })?;
        let set = given.into_iter().find(|given| given.key == new.key);
        set.ok_or_else(|| ConfigError::lacking(new.key))
    }
}

fn edited(text: &str, path: &Path, new: &NewSetting) -> Result<String, ConfigError> {
    let not_toml = |what: &str| ConfigError::not_toml(path.display(), what);
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| not_toml(error.message()))?;
    let (table, name) = new.key.split_once('.').unwrap_or((new.key, ""));
    let not_a_table = || not_toml(&format!("`{table}` is not a table"));
    let settings = document.entry(table).or_insert(Item::Table(Table::new()));
    let settings = settings.as_table_like_mut().ok_or_else(not_a_table)?;
    match &new.value {
        Value::Object(entries) => {
            let inner = settings.entry(name).or_insert(Item::Table(Table::new()));
            let inner = inner.as_table_like_mut().ok_or_else(not_a_table)?;
            for (entry, value) in entries {
                replace(inner, entry, value);
            }
        }
        value => replace(settings, name, value),
    }
    Ok(document.to_string())
}

/// Replaces a value; a comment behind the old one is kept.
fn replace(table: &mut dyn TableLike, name: &str, value: &Value) {
    let mut value = toml_value(value);
    match table.get_mut(name) {
        Some(item) => {
            if let Some(old) = item.as_value() {
                *value.decor_mut() = old.decor().clone();
            }
            *item = Item::Value(value);
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Array(elements) => elements.iter().map(toml_value).collect(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, number) => number.unwrap_or_default().into(),
        },
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: &str) -> String {
        let new = NewSetting::parse(key, value).unwrap();
        edited(text, Path::new("swarm.toml"), &new).unwrap()
    }

    #[test]
    fn a_new_setting_is_added_and_everything_else_is_kept() {
        let text = "# mine\n[permissions] # first\nmode = \"plan\" # for now\n\n[spawn]\nbackend = \"tmux\"\n";
        let changed = set(text, "permissions.mode", "acceptEdits");
        assert_eq!(changed, text.replace("plan", "acceptEdits"));
        let added = set(text, "spawn.max_members", "3");
        assert_eq!(added, format!("{text}max_members = 3\n"));
        assert_eq!(
            set("", "env.pass", "A, B"),
            "[env]\npass = [\"A\", \"B\"]\n"
        );
        assert_eq!(set("", "notify.bell", "false"), "[notify]\nbell = false\n");
    }

    #[test]
    fn entries_are_added_to_a_table_in_any_notation() {
        let text = "[model.aliases]\nfast = \"openai/a\"\n";
        let changed = set(text, "model.aliases", "slow=openai/b");
        assert_eq!(changed, format!("{text}slow = \"openai/b\"\n"));
        assert_eq!(set(text, "model.aliases.slow", "openai/b"), changed);
        let inline = set(
            "model.aliases = { fast = \"a\" }\n",
            "model.aliases",
            "fast=b",
        );
        assert_eq!(inline, "model.aliases = { fast = \"b\" }\n");
        let dotted = set(
            "permissions.mode = \"plan\"\n",
            "permissions.mode",
            "default",
        );
        assert_eq!(dotted, "permissions.mode = \"default\"\n");
    }

    #[test]
    fn wrong_names_and_values_are_explained() {
        let wrong = |key: &str, value: &str| NewSetting::parse(key, value).unwrap_err().to_string();
        assert_eq!(
            wrong("permissions.mod", "plan"),
            "unknown setting `permissions.mod`; did you mean `permissions.mode`?"
        );
        let value = wrong("notify.bell", "loud");
        assert_eq!(value, "`notify.bell` must be true or false, not \"loud\"");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the user's file")]
    fn a_linked_file_is_changed_in_place() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().join("dotfiles.toml");
        std::fs::write(&real, "").unwrap();
        let files = SettingsFiles::new(directory.path(), directory.path());
        std::os::unix::fs::symlink(&real, &files.user).unwrap();
        let new = NewSetting::parse("notify.bell", "false").unwrap();
        let set = files.set(&new).unwrap();
        assert!(set.place.to_string().ends_with("swarm.toml:2"));
        let written = std::fs::read_to_string(real).unwrap();
        assert_eq!(written, "[notify]\nbell = false\n");
        assert!(files.user.is_symlink());
    }
}

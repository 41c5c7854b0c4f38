//! Reading one `settings.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_permissions::PermissionSettings;

use super::requests;
use crate::error::ConfigError;
use crate::settings::{Layer, SettingValue, ValueLocation};

/// The setting that `permissions.defaultMode` sets.
const MODE: &str = "permissions.mode";

/// An existing settings file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) layer: Layer,
    pub(super) document: Value,
    pub(super) permissions: PermissionSettings,
}

impl File {
    /// Reads a file if it exists. Relative paths in its rules are resolved against `base`. A
    /// rejected file is reported with all its errors.
    pub(super) fn read(
        path: &Path,
        layer: Layer,
        base: &Path,
        home: Option<&Path>,
    ) -> Result<Option<Self>, Vec<ConfigError>> {
        let Some(document) = read_json(path).map_err(|error| vec![error])? else {
            return Ok(None);
        };
        let origin = path.display().to_string();
        let permissions = PermissionSettings::from_settings(&document, &origin, base, home);
        // An invalid rule might have been a deny rule, so a file with one is rejected.
        if !permissions.errors.is_empty() {
            let errors = permissions.errors.into_iter();
            return Err(errors
                .map(|why| ConfigError::invalid(why, "fix the file"))
                .collect());
        }
        Ok(Some(Self {
            path: path.to_owned(),
            layer,
            document,
            permissions,
        }))
    }

    /// Returns the values for our own settings.
    pub(super) fn given(&self) -> impl Iterator<Item = SettingValue> {
        let place = ValueLocation::File(self.path.clone(), None);
        let given = move |(key, value): (&'static str, Value)| SettingValue {
            key,
            layer: self.layer,
            place: place.clone(),
            value,
        };
        // A repository may not choose a model, the user's keys or the instructions that are read.
        let of_user = [requests::MODEL, requests::EDITOR_MODE, requests::EXCLUDES];
        let requests = requests::in_settings(&self.document).into_iter();
        let requests =
            requests.filter(move |(key, _)| self.layer != Layer::Project || !of_user.contains(key));
        self.modes().chain(requests.map(given))
    }

    /// Returns the values for the default permission mode.
    fn modes(&self) -> impl Iterator<Item = SettingValue> {
        let place = ValueLocation::File(self.path.clone(), None);
        let given = move |layer, mode: &str| SettingValue {
            key: MODE,
            layer,
            place: place.clone(),
            value: mode.into(),
        };
        let without_bypass = &self.document["permissions"]["disableBypassPermissionsMode"];
        // This policy must also apply to flags, which only a managed limit does.
        let ceiling = (without_bypass == "disable").then(|| given(Layer::Managed, "acceptEdits"));
        let mode = self.permissions.default_mode;
        let mode = mode.map(|mode| given(self.layer, mode.name()));
        mode.into_iter().chain(ceiling)
    }

    /// Returns the plugins that the file enables or disables.
    pub(super) fn plugins(&self) -> impl Iterator<Item = (String, bool)> {
        let plugins = self.document["enabledPlugins"].as_object().into_iter();
        plugins
            .flatten()
            .filter_map(|(plugin, on)| Some((plugin.clone(), on.as_bool()?)))
    }

    /// Returns the variables of `env`, for shell commands of agents and for model clients. Swarm's
    /// process markers are excluded.
    pub(super) fn variables(&self) -> Result<BTreeMap<String, String>, ConfigError> {
        let wrong = |what: String| {
            let what = format!("{}: {what}", self.path.display());
            let hint = "fix the file; `env` is an object of strings";
            Err(ConfigError::invalid(what, hint))
        };
        let entries = match self.document.get("env") {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(Value::Object(entries)) => entries,
            Some(_) => return wrong("`env` must be an object".to_owned()),
        };
        let mut variables = BTreeMap::new();
        for (name, value) in entries {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return wrong(format!("`env.{}` must be a string", name.escape_debug())),
            };
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return wrong(format!(
                    "`env.{}` is not a valid environment variable",
                    name.escape_debug()
                ));
            }
            if !name.starts_with("SWARM_") && name != "CLAUDE_CONFIG_DIR" {
                variables.insert(name.clone(), value);
            }
        }
        Ok(variables)
    }

    pub(super) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the file's name for messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn read_json(path: &Path) -> Result<Option<Value>, ConfigError> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
        Err(error) => return Err(ConfigError::unreadable(path, &error)),
    };
    // An empty file, as left by an editor or `touch`.
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let path = path.display();
    match serde_json::from_slice(&bytes) {
        Ok(document @ Value::Object(_)) => Ok(Some(document)),
        Ok(_) => Err(ConfigError::invalid(
            format!("{path} is not a JSON object"),
            "fix the file; an empty object is {}",
        )),
        Err(error) => Err(ConfigError::invalid(
            format!("invalid JSON in {path}: {error}"),
            "fix the file",
        )),
    }
}

//! One `settings.json`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_policy::PermissionSettings;
use swarm_protocol::ErrorKind;

use crate::failure::Failure;
use crate::settings::{Given, Layer, Place};

/// Name of the setting that `permissions.defaultMode` gives.
const MODE: &str = "permissions.mode";

/// A file that is there.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    pub(super) layer: Layer,
    pub(super) document: Value,
    pub(super) permissions: PermissionSettings,
}

impl File {
    /// Reads a file that may be missing. Folders in its rules start from `base`. One that is refused is told of with each of
    /// its slips.
    pub(super) fn read(
        path: &Path,
        layer: Layer,
        base: &Path,
        home: Option<&Path>,
    ) -> Result<Option<Self>, Vec<Failure>> {
        let Some(document) = read_json(path).map_err(|failure| vec![failure])? else {
            return Ok(None);
        };
        let origin = path.display().to_string();
        let permissions = PermissionSettings::from_settings(&document, &origin, base, home);
        // A rule that is not understood might have forbidden something, so nothing is run without it.
        if !permissions.errors.is_empty() {
            let slips = permissions.errors.into_iter();
            return Err(slips
                .map(|slip| Failure::usage(slip).with_hint("correct the file"))
                .collect());
        }
        Ok(Some(Self {
            path: path.to_owned(),
            layer,
            document,
            permissions,
        }))
    }

    /// What the file says about the mode where none is named.
    pub(super) fn modes(&self) -> impl Iterator<Item = Given> {
        let place = Place::File(self.path.clone(), None);
        let given = move |layer, mode: &str| Given {
            key: MODE,
            layer,
            place: place.clone(),
            value: mode.into(),
        };
        let without_bypass = &self.document["permissions"]["disableBypassPermissionsMode"];
        // Whoever writes this wants it to hold against flags as well, which only a ceiling does.
        let ceiling = (without_bypass == "disable").then(|| given(Layer::Managed, "acceptEdits"));
        let mode = self.permissions.default_mode;
        let mode = mode.map(|mode| given(self.layer, mode.name()));
        mode.into_iter().chain(ceiling)
    }

    /// The plugins that the file turns on or off.
    pub(super) fn plugins(&self) -> impl Iterator<Item = (String, bool)> {
        let plugins = self.document["enabledPlugins"].as_object().into_iter();
        plugins
            .flatten()
            .filter_map(|(plugin, on)| Some((plugin.clone(), on.as_bool()?)))
    }

    /// What the file is called in a message.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn read_json(path: &Path) -> Result<Option<Value>, Failure> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let origin = path.display();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
        Err(error) => {
            let message = format!("the settings {origin} cannot be read: {error}");
            return Err(Failure::new(ErrorKind::Environment, message)
                .with_hint("make it a file that you may read, or move it away"));
        }
    };
    // What an editor or `touch` leaves before the first line is written.
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    match serde_json::from_slice(&bytes) {
        Ok(document @ Value::Object(_)) => Ok(Some(document)),
        Ok(_) => Err(Failure::usage(format!("{origin} is not a JSON object"))
            .with_hint("correct the file; an empty one is {}")),
        Err(error) => {
            Err(Failure::usage(format!("{origin} is not JSON: {error}"))
                .with_hint("correct the file"))
        }
    }
}

//! The locations of settings files, and their loading.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_os::repository_top;

use crate::environment::Environment;
use crate::error::ConfigError;

use super::file::read_file;
use super::given::{Layer, SettingValue, Sources, ValueLocation};
use super::keys::{KEYS, Settings};
use super::variables;

/// Directory of system-wide settings.
const SYSTEM: &str = "/etc/swarm";

const FILE: &str = "swarm.toml";

/// The settings files. Their locations depend only on the config directory and the working
/// directory: a variable for them would let its setter bypass managed policy.
#[derive(Debug, Clone)]
pub struct SettingsFiles {
    pub(super) system: PathBuf,
    pub(super) managed: PathBuf,
    pub(super) user: PathBuf,
    pub(super) project: Option<PathBuf>,
}

impl SettingsFiles {
    /// Returns the files for a command in `cwd`.
    pub fn new(root: &Path, cwd: &Path) -> Self {
        Self::below(Path::new(SYSTEM), root, cwd)
    }

    /// Returns the files, with system-wide ones in `system`.
    pub(super) fn below(system: &Path, root: &Path, cwd: &Path) -> Self {
        let user = root.join(FILE);
        Self {
            system: system.join(FILE),
            managed: system.join("managed.toml"),
            project: project_file(cwd, &user),
            user,
        }
    }
}

/// Returns the directories with a project's configuration: from `cwd` up to the top of its
/// repository, nearest first. Outside of a repository only `cwd`, because directories above it may
/// belong to other users.
pub fn repository_directories(cwd: &Path) -> impl Iterator<Item = &Path> {
    let top = repository_top(cwd);
    cwd.ancestors()
        .take_while(move |directory| directory.starts_with(top))
}

/// Returns the nearest `.claude/swarm.toml` from `cwd` upwards within the repository; outside of
/// one only that in `cwd`.
fn project_file(cwd: &Path, user: &Path) -> Option<PathBuf> {
    // The home directory can be a repository whose `.claude` is the config directory: its file is
    // the user's.
    let is_user = |path: &PathBuf| match (path.canonicalize(), user.canonicalize()) {
        (Ok(path), Ok(user)) => path == user,
        _ => false,
    };
    repository_directories(cwd)
        .map(|directory| directory.join(".claude").join(FILE))
        .find(|path| path.exists() && !is_user(path))
}

/// Built-in settings: the files, and their content as JSON by name of the setting.
const BUILT_IN: [(&str, &str); 2] = [
    (
        "config/models.toml",
        include_str!(concat!(env!("OUT_DIR"), "/models.json")),
    ),
    (
        "config/default.toml",
        include_str!(concat!(env!("OUT_DIR"), "/default.json")),
    ),
];

impl Settings {
    /// Reads all layers.
    pub fn load(places: &SettingsFiles, env: &Environment) -> Result<Self, ConfigError> {
        let mut given = built_in()?;
        given.extend(read_file(&places.system, Layer::System)?);
        given.extend(read_file(&places.user, Layer::User)?);
        if let Some(project) = &places.project {
            given.extend(read_file(project, Layer::Project)?);
        }
        given.extend(variables::read(env.variables())?);
        given.extend(read_file(&places.managed, Layer::Managed)?);
        Self::of(Sources::new(given))
    }

    /// Returns the built-in settings.
    pub fn built_in() -> Result<Self, ConfigError> {
        Self::of(Sources::new(built_in()?))
    }
}

/// Tests check that the values are valid.
pub(super) fn built_in() -> Result<Vec<SettingValue>, ConfigError> {
    let mut given = Vec::with_capacity(KEYS.len());
    for (file, text) in BUILT_IN {
        let place = ValueLocation::Program(file);
        let values: BTreeMap<&str, Value> = serde_json::from_str(text)
            .map_err(|error| ConfigError::not_toml(place.clone(), error))?;
        given.extend(values.into_iter().map(|(key, value)| SettingValue {
            key,
            layer: Layer::BuiltIn,
            place: place.clone(),
            value,
        }));
    }
    Ok(given)
}

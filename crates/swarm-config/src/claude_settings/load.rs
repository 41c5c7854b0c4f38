//! Loading of all `settings.json` files: the user's and managed ones completely, a repository's
//! only where they restrict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use swarm_permissions::RuleSet;

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::plugins::{ActivePlugin, EnabledPlugins, active_plugins};
use crate::settings::{Layer, NearestValue, SettingValue, ValueLocation, repository_directories};
use crate::trust::{Project, project_directory};

use super::file::File;
use super::{FoundHooks, requests, unsupported};

/// Claude Code's managed settings.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// The merged content of the settings files.
#[derive(Debug, Default)]
pub struct ClaudeSettings {
    /// Permission rules.
    pub rules: RuleSet,
    /// Values for settings of `swarm.toml`.
    given: Vec<SettingValue>,
    /// Variables for shell commands of agents and for model clients, without a repository's.
    pub env: BTreeMap<String, String>,
    /// The file that sets each of these variables.
    env_files: BTreeMap<String, PathBuf>,
    /// The hooks.
    pub hooks: FoundHooks,
    /// The enabled plugins.
    pub plugins: EnabledPlugins,
    /// Those that are enabled by name.
    active_plugins: Vec<ActivePlugin>,
    key_helper: ValueBySource,
    status_line: ValueBySource,
    output_style: ValueBySource,
    /// Warnings about the files.
    pub(super) remarks: Vec<String>,
}

impl ClaudeSettings {
    /// Reads the files that apply to a command in `cwd`.
    pub fn load(root: &Path, cwd: &Path, home: Option<&Path>) -> Result<Self, ConfigError> {
        Self::load_with(Path::new(MANAGED), root, cwd, home)
    }

    /// Does the same if the project of `cwd` is known.
    pub fn load_in(
        project: &Project,
        root: &Path,
        cwd: &Path,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let managed = Path::new(MANAGED);
        let (settings, refused) =
            Self::load_lenient_with(managed, root, (cwd, &project.directory), home);
        ConfigError::all(refused).map_or(Ok(settings), Err)
    }

    /// Reads the valid files and returns the errors of the others.
    pub fn load_lenient(root: &Path, cwd: &Path, home: Option<&Path>) -> (Self, Vec<ConfigError>) {
        let own = project_directory(root, cwd);
        Self::load_lenient_with(Path::new(MANAGED), root, (cwd, &own), home)
    }

    /// Reads the files, with managed settings at `managed`.
    pub(super) fn load_with(
        managed: &Path,
        root: &Path,
        cwd: &Path,
        home: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let own = project_directory(root, cwd);
        let (settings, refused) = Self::load_lenient_with(managed, root, (cwd, &own), home);
        ConfigError::all(refused).map_or(Ok(settings), Err)
    }

    /// `own` is the directory of the project of `cwd`, whose programs are used.
    fn load_lenient_with(
        managed: &Path,
        root: &Path,
        (cwd, own): (&Path, &Path),
        home: Option<&Path>,
    ) -> (Self, Vec<ConfigError>) {
        let mut settings = Self::default();
        let mut refused = Vec::new();
        let mut read = |path: &Path, layer, base: &Path| {
            File::read(path, layer, base, home).unwrap_or_else(|errors| {
                refused.extend(errors);
                None
            })
        };
        let user = read(&root.join("settings.json"), Layer::User, root);
        let project: Vec<File> = project_files(root, cwd)
            .filter_map(|(directory, path)| read(&path, Layer::Project, directory))
            .collect();
        let programs_alone: Vec<File> = project_files(root, own)
            .filter(|_| own != cwd)
            .filter_map(|(directory, path)| read(&path, Layer::Project, directory))
            .collect();
        let base = managed.parent().unwrap_or(root);
        let policy = read(managed, Layer::Managed, base);
        for file in user.iter().chain(&project).chain(&policy) {
            refused.extend(settings.add(file).err());
        }
        let programs_of = if own == cwd {
            &project
        } else {
            &programs_alone
        };
        for file in programs_of {
            settings.add_programs(file);
        }
        settings.add_plugins(root);
        (settings, refused)
    }

    fn add(&mut self, file: &File) -> Result<(), ConfigError> {
        let rules = file.permissions.rules.clone();
        self.rules.deny.extend(rules.deny);
        self.rules.ask.extend(rules.ask);
        self.given.extend(file.given());
        self.remarks.extend(misread_programs(file));
        let misread = requests::invalid_in(&file.document, &file.name(), file.layer);
        self.remarks.extend(misread);
        self.remarks.extend_from_slice(&file.permissions.remarks);
        let unsupported = unsupported::in_settings(&file.document, &file.name());
        self.remarks.extend(unsupported);
        // An untrusted repository may deny and ask, but not allow calls or set variables.
        if file.layer != Layer::Project {
            self.rules.allow.extend(rules.allow);
            self.rules.directories.extend(rules.directories);
            let variables = file.variables()?;
            let names = variables.keys().cloned();
            self.env_files
                .extend(names.map(|name| (name, file.path.clone())));
            self.env.extend(variables);
            self.add_programs(file);
        }
        Ok(())
    }

    /// Adds the hooks and other commands of a file. Those of a repository come from its main
    /// checkout, because agents can change the files of a worktree.
    fn add_programs(&mut self, file: &File) {
        self.key_helper.take(file, "apiKeyHelper");
        self.status_line.take(file, "statusLine");
        self.output_style.take(file, "outputStyle");
        for (plugin, on) in file.plugins() {
            let shown = plugin.escape_debug().to_string();
            if !self.plugins.add(plugin, on, file.layer, file.directory()) {
                self.remarks.push(format!(
                    "{}: ignoring `enabledPlugins`: a repository cannot disable `{shown}`, which your settings or \
                     managed policy enable",
                    file.name()
                ));
            }
        }
        let remarks = self.hooks.take(file);
        self.remarks.extend(remarks);
    }

    /// Finds the plugins that the files enable, and adds their hooks.
    fn add_plugins(&mut self, root: &Path) {
        self.active_plugins = active_plugins(root, &self.plugins);
        for plugin in &self.active_plugins {
            self.remarks.extend(plugin.misplaced());
            self.remarks.extend(self.hooks.take_plugin(plugin));
        }
    }

    /// Returns the plugins whose commands, skills, hooks and MCP servers are used. `trusted` says
    /// whether the repository may enable some.
    pub fn active_plugins(&self, trusted: bool) -> Vec<&ActivePlugin> {
        let plugins = self.active_plugins.iter();
        plugins
            .filter(|plugin| trusted || !plugin.is_of_repository())
            .collect()
    }

    /// Returns the other plugins, which only the repository enables.
    pub fn untrusted_plugins(&self, trusted: bool) -> impl Iterator<Item = &ActivePlugin> {
        let plugins = self.active_plugins.iter();
        plugins.filter(move |plugin| !trusted && plugin.is_of_repository())
    }

    /// Returns a variable from the settings files, otherwise from the process environment.
    pub fn variable<'a>(&'a self, env: &'a Environment, name: &str) -> Option<&'a str> {
        let set = self.env.get(name).map(String::as_str);
        set.or_else(|| env.get(name))
    }

    /// Returns the command that prints the key for the Messages API (`apiKeyHelper`). `trusted`
    /// says whether that of the repository may run.
    pub fn api_key_helper(&self, trusted: bool) -> Option<&str> {
        self.key_helper.effective(trusted)?.as_str()
    }

    /// Returns the command that prints the user's own status line (`statusLine`). `trusted` says
    /// whether that of the repository may run.
    pub fn status_line(&self, trusted: bool) -> Option<&str> {
        status_command(self.status_line.effective(trusted)?)
    }

    /// Whether that command is the repository's, so that agents may have written it.
    pub fn has_repository_status_line(&self, trusted: bool) -> bool {
        let line = &self.status_line;
        trusted && line.managed.is_none() && line.project.get().is_some()
    }

    /// Returns the name of the output style, if it is not the default one. `trusted` says whether
    /// the repository may choose it.
    pub fn output_style(&self, trusted: bool) -> Option<&str> {
        let name = self.output_style.effective(trusted)?.as_str()?;
        Some(name).filter(|name| !name.eq_ignore_ascii_case("default"))
    }

    /// Returns the values that these files and Claude Code's variables give to settings of
    /// `swarm.toml`.
    pub fn given(&self, env: &Environment) -> Vec<SettingValue> {
        let variables = requests::in_variables(|name| self.variable(env, name));
        let variables = variables
            .into_iter()
            .map(|(name, key, value)| SettingValue {
                key,
                layer: Layer::Environment,
                place: match self.env_files.get(name) {
                    Some(file) => ValueLocation::File(file.clone(), None),
                    None => ValueLocation::Variable(name.to_owned()),
                },
                value,
            });
        self.given.iter().cloned().chain(variables).collect()
    }

    /// Returns warnings about the settings files and variables.
    pub fn warnings(&self, env: &Environment) -> Vec<String> {
        let mut warnings = self.remarks.clone();
        let files: BTreeSet<_> = self.env_files.values().collect();
        for file in files.into_iter().map(Some).chain([None]) {
            let place = file.map_or_else(
                || "environment".to_owned(),
                |file| file.display().to_string(),
            );
            let variable = |name: &str| {
                let is_here = self.env_files.get(name) == file;
                self.variable(env, name).filter(|_| is_here)
            };
            warnings.extend(unsupported::in_variables(&place, variable));
            warnings.extend(requests::invalid_variables(&place, variable));
        }
        warnings
    }
}

fn status_command(value: &Value) -> Option<&str> {
    let command = value["command"]
        .as_str()
        .filter(|text| !text.trim().is_empty());
    command.filter(|_| value["type"] == "command")
}

/// A key, whether a value is valid, and what to use instead.
type ExpectedValue = (&'static str, fn(&Value) -> bool, &'static str);

/// Returns warnings about values of the wrong type.
fn misread_programs(file: &File) -> Vec<String> {
    let is_wrong = |key: &str, is_valid: fn(&Value) -> bool| {
        let value = &file.document[key];
        !value.is_null() && !is_valid(value)
    };
    let expected: [ExpectedValue; 3] = [
        ("apiKeyHelper", Value::is_string, "a command"),
        (
            "statusLine",
            |value| status_command(value).is_some(),
            "{\"type\": \"command\", \"command\": …}",
        ),
        ("outputStyle", Value::is_string, "the name of a style"),
    ];
    let wrong = expected
        .iter()
        .filter(|(key, is_valid, _)| is_wrong(key, *is_valid));
    wrong
        .map(|(key, _, use_)| format!("{}: ignoring `{key}`: use {use_}", file.name()))
        .collect()
}

/// Returns the settings files of the repository around `cwd`, each with the directory it applies
/// to.
fn project_files<'a>(
    root: &'a Path,
    cwd: &'a Path,
) -> impl Iterator<Item = (&'a Path, PathBuf)> + 'a {
    repository_directories(cwd).flat_map(move |directory| {
        let claude = directory.join(".claude");
        let names = ["settings.json", "settings.local.json"];
        let paths = (claude != root).then(|| names.map(|name| (directory, claude.join(name))));
        paths.into_iter().flatten()
    })
}

#[derive(Debug, Default)]
pub(super) struct ValueBySource {
    managed: Option<Value>,
    user: Option<Value>,
    project: NearestValue<Value>,
}

impl ValueBySource {
    /// Takes the value of a file. A repository's files come nearest first.
    pub(super) fn take(&mut self, file: &File, key: &str) {
        let value = match &file.document[key] {
            Value::Null => return,
            value => value.clone(),
        };
        match file.layer {
            Layer::Managed => self.managed = Some(value),
            Layer::Project => self.project.add(file.directory(), value),
            _ => self.user = Some(value),
        }
    }

    /// Returns the effective value: managed policy wins over a trusted repository, and that over
    /// the user.
    pub(super) fn effective(&self, trusted: bool) -> Option<&Value> {
        self.managed
            .as_ref()
            .or(self.project.get().filter(|_| trusted))
            .or(self.user.as_ref())
    }
}

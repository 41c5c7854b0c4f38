//! The agent programs in `config/runtimes.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use swarm_protocol::AgentProgram;

use crate::environment::Environment;
use crate::error::ConfigError;
use crate::expand::expand_text;

/// The file as JSON.
const PRESETS: &str = include_str!(concat!(env!("OUT_DIR"), "/runtimes.json"));

/// The known agent programs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimePresets {
    /// Claude Code.
    pub claude: RuntimePreset,
    /// Programs that speak the Agent Client Protocol, by name.
    pub acp: BTreeMap<String, RuntimePreset>,
}

/// A known agent program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimePreset {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Command that installs the program.
    pub install: String,
    /// Variables that it gets besides those of a shell.
    #[serde(default)]
    pub env: Vec<String>,
    /// Its own directories.
    pub state: Vec<RuntimeState>,
}

/// A directory in which an agent program keeps its settings and state. Paths may contain variables
/// (`${NAME:-default}`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeState {
    directory: String,
    /// Entries that it reads.
    #[serde(default)]
    pub read: Vec<String>,
    /// Files with secrets that it reads.
    #[serde(default)]
    pub secret: Vec<String>,
    /// Files that it writes in place.
    #[serde(default)]
    pub write: Vec<String>,
    /// What it gets of settings files that it replaces.
    pub copy: Option<RuntimeCopy>,
}

/// What an agent program gets of the user's settings in JSON files, as copies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeCopy {
    files: Vec<String>,
    /// Keys that it needs.
    pub keys: Vec<String>,
    /// Keys of a project in `projects` that it needs.
    pub project_keys: Vec<String>,
}

impl RuntimePresets {
    /// Returns the built-in presets.
    ///
    /// # Errors
    /// If the built-in file is invalid.
    pub fn built_in() -> Result<Self, ConfigError> {
        serde_json::from_str(PRESETS)
            .map_err(|error| ConfigError::not_toml("config/runtimes.toml", error))
    }

    /// Returns the files with logins and keys of all known programs in this environment, whether or not
    /// they exist.
    pub fn secrets(&self, env: &Environment) -> Vec<PathBuf> {
        let presets = self.acp.values().chain([&self.claude]);
        let states = presets.flat_map(|preset| &preset.state);
        let files = states.filter_map(|state| {
            let directory = state.directory(env).ok()?;
            let names = state.secret.iter().chain(&state.write);
            Some(names.map(move |name| directory.join(name)))
        });
        files.flatten().collect()
    }

    /// Returns the preset of a program, if it is known.
    pub fn find(&self, program: &AgentProgram) -> Option<&RuntimePreset> {
        match program {
            AgentProgram::Swarm => None,
            AgentProgram::Claude => Some(&self.claude),
            AgentProgram::Acp(name) => self.acp.get(name),
        }
    }
}

impl RuntimeState {
    /// Returns the directory in this environment.
    ///
    /// # Errors
    /// A sentence if there is none, or if it contains the home directory, so that it cannot be replaced.
    pub fn directory(&self, env: &Environment) -> Result<PathBuf, String> {
        let path = path_of(&self.directory, env)?;
        if env.home().is_some_and(|home| home.starts_with(&path)) {
            return Err(format!(
                "{} ({}) contains the home directory",
                path.display(),
                self.directory
            ));
        }
        Ok(path)
    }

    /// Returns the variable that moves the directory, and the path from its value to the directory.
    ///
    /// # Errors
    /// A sentence if there is none.
    pub fn variable(&self) -> Result<(&str, &str), String> {
        let default = self.directory.strip_prefix("${");
        let parts = default.and_then(|text| {
            let (name, rest) = text.split_once(":-")?;
            let (_, inner) = rest.split_once('}')?;
            Some((name, inner.trim_start_matches('/')))
        });
        parts.ok_or_else(|| format!("{} does not begin with a variable", self.directory))
    }
}

impl RuntimeCopy {
    /// Returns the files in this environment.
    ///
    /// # Errors
    /// A sentence if a path has no value.
    pub fn files(&self, env: &Environment) -> Result<Vec<PathBuf>, String> {
        let paths = self.files.iter().map(|path| path_of(path, env));
        paths.collect()
    }
}

fn path_of(text: &str, env: &Environment) -> Result<PathBuf, String> {
    let path = env.path_of(&expand_text(text, env)?);
    path.ok_or_else(|| format!("{text} requires a home directory; set HOME"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_preset_has_a_program_a_way_to_install_it_and_its_directories() {
        let presets = RuntimePresets::built_in().unwrap();
        assert_eq!(presets.acp.len(), 5);
        let env = Environment::new([("HOME", "/home/u")], Path::new("/"));
        let claude = ("claude".to_owned(), presets.claude);
        for (name, preset) in presets.acp.into_iter().chain([claude]) {
            assert!(!preset.command.is_empty(), "{name}");
            assert!(preset.install.starts_with("npm install -g "), "{name}");
            assert!(!preset.state.is_empty(), "{name}");
            for state in preset.state {
                let directory = state.directory(&env).unwrap();
                assert!(directory.starts_with("/home/u/."), "{name} {directory:?}");
                assert!(state.variable().is_ok(), "{name}");
                let copied = state.copy.iter().flat_map(|copy| copy.files(&env).unwrap());
                assert_eq!(copied.count() > 0, state.copy.is_some(), "{name}");
            }
        }
    }

    #[test]
    fn a_directory_is_where_the_programs_variable_says() {
        let presets = RuntimePresets::built_in().unwrap();
        let codex = presets.find(&AgentProgram::Acp("codex-acp".to_owned()));
        let state = &codex.unwrap().state[0];
        let directory = |home: &str| {
            let vars = [("HOME", "/home/u"), ("CODEX_HOME", home)];
            state.directory(&Environment::new(vars, Path::new("/work")))
        };
        assert_eq!(directory("/else/codex").unwrap(), Path::new("/else/codex"));
        assert_eq!(directory("").unwrap(), Path::new("/home/u/.codex"));
        assert_eq!(state.variable(), Ok(("CODEX_HOME", "")));
        let gemini = &presets.acp["gemini"].state[0];
        assert_eq!(gemini.variable(), Ok(("GEMINI_CLI_HOME", ".gemini")));
        let vars = [("HOME", "/home/u"), ("CODEX_HOME", "/else/codex")];
        let secrets = presets.secrets(&Environment::new(vars, Path::new("/work")));
        for path in [
            "/else/codex/auth.json",
            "/home/u/.gemini/.env",
            "/home/u/.local/share/opencode/mcp-auth.json",
        ] {
            assert!(
                secrets.iter().any(|secret| secret == Path::new(path)),
                "{path}"
            );
        }
        for home in ["/", "/home", "/home/u"] {
            assert!(directory(home).is_err(), "{home}");
        }
        let nowhere = Environment::new([("A", "")], Path::new("/work"));
        assert!(state.directory(&nowhere).unwrap_err().contains("HOME"));
        assert!(
            presets
                .find(&AgentProgram::Acp("claude".to_owned()))
                .is_none()
        );
    }
}

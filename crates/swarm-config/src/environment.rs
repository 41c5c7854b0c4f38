//! The process environment: variables and working directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use swarm_protocol::{ErrorKind, word_list};

use crate::error::ConfigError;

/// Variables passed to shell commands of agents, without provider keys.
const PASSED: [&str; 22] = word_list(
    "PATH HOME USER LOGNAME SHELL TERM LANG LC_ALL LC_CTYPE TZ TMPDIR HTTP_PROXY HTTPS_PROXY
    NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy SSL_CERT_FILE SSL_CERT_DIR
    NODE_EXTRA_CA_CERTS",
);

/// Variables for model clients: keys, URLs and proxies.
const PROVIDER: [&str; 11] = word_list(
    "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL OPENAI_API_KEY OPENAI_BASE_URL
    HTTPS_PROXY https_proxy HTTP_PROXY http_proxy NO_PROXY no_proxy",
);

/// Variables that hold secrets and are never passed on.
const SECRET: [&str; 3] = word_list("ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN OPENAI_API_KEY");

/// The environment variables of this process and its working directory.
#[derive(Debug, Clone)]
pub struct Environment {
    vars: BTreeMap<String, String>,
    /// The working directory.
    pub cwd: PathBuf,
}

impl Environment {
    /// Creates an environment from variables and a working directory.
    pub fn new<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
        cwd: &Path,
    ) -> Self {
        let pair = |(name, value): (N, V)| (name.into(), value.into());
        Self {
            vars: variables.into_iter().map(pair).collect(),
            cwd: cwd.to_owned(),
        }
    }

    /// Returns this environment with more variables, in another working directory.
    #[must_use]
    pub fn with(&self, variables: impl IntoIterator<Item = (String, String)>, cwd: &Path) -> Self {
        let mut vars = self.vars.clone();
        vars.extend(variables);
        let cwd = cwd.to_owned();
        Self { vars, cwd }
    }

    /// Returns a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns every variable.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let pair = |(name, value)| (String::as_str(name), String::as_str(value));
        self.vars.iter().map(pair)
    }

    /// Returns whether a variable holds a provider key.
    pub fn is_secret(name: &str) -> bool {
        SECRET.contains(&name)
    }

    /// Returns every variable but provider keys, for programs of the user.
    pub fn without_keys(&self) -> Vec<(String, String)> {
        let kept = self.vars.iter().filter(|(name, _)| !Self::is_secret(name));
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Returns the home directory.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// Returns the path that a setting names, which may begin with `~/`; `None` without a home
    /// directory then.
    pub fn path_of(&self, setting: &str) -> Option<PathBuf> {
        match setting.strip_prefix("~/") {
            Some(rest) => self.home().map(|home| home.join(rest)),
            None => Some(self.cwd.join(setting)),
        }
    }

    /// Returns the config directory.
    pub fn root(&self) -> Result<PathBuf, ConfigError> {
        if let Some(root) = self.get("CLAUDE_CONFIG_DIR") {
            return Ok(self.cwd.join(root));
        }
        let home = self.home().ok_or_else(|| {
            ConfigError::new(
                ErrorKind::Environment,
                "neither CLAUDE_CONFIG_DIR nor HOME is set",
                "set CLAUDE_CONFIG_DIR to the directory for teams and tasks",
            )
        })?;
        Ok(home.join(".claude"))
    }

    /// Returns the environment of agents' shell commands: the default variables, those listed in
    /// `further` and those set in a settings file, without provider keys.
    pub fn shell_with(
        &self,
        further: &[String],
        given: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let given = given.clone().into_iter();
        let mut variables = self.shell(further);
        variables.extend(given.filter(|(name, _)| !SECRET.contains(&name.as_str())));
        variables
    }

    /// Returns the environment of agents' shell commands: the default variables and those listed in
    /// `further`.
    pub fn shell(&self, further: &[String]) -> BTreeMap<String, String> {
        let names = PASSED
            .iter()
            .copied()
            .chain(further.iter().map(String::as_str));
        names
            .filter(|name| !SECRET.contains(name))
            .filter_map(|name| Some((name.to_owned(), self.vars.get(name)?.clone())))
            .collect()
    }

    /// Returns the environment of our own git calls: the default variables and those for git's
    /// identity and configuration.
    pub fn for_git(&self) -> BTreeMap<String, String> {
        let own = self.vars.iter().filter(|(name, _)| {
            let name = name.as_str();
            name == "XDG_CONFIG_HOME"
                || ["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_", "GIT_SSH"]
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
        });
        let own = own.map(|(name, value)| (name.clone(), value.clone()));
        let mut variables = self.shell(&[]);
        variables.extend(own);
        variables
    }

    /// Returns the variables of model clients: from the process environment, otherwise from a
    /// settings file.
    pub fn provider_with(&self, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let value = |name: &str| self.vars.get(name).or_else(|| given.get(name)).cloned();
        PROVIDER
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), value(name)?)))
            .collect()
    }

    /// Returns whether output may be coloured.
    pub fn color(&self, is_terminal: bool) -> bool {
        if self.get("NO_COLOR").is_some() {
            return false;
        }
        if self.get("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            return true;
        }
        is_terminal && self.get("TERM") != Some("dumb")
    }

    /// Finds a program on the `PATH`.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        self.get("PATH")?
            .split(':')
            .filter(|directory| !directory.is_empty())
            .map(|directory| Path::new(directory).join(name))
            .find(|path| is_executable(path))
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

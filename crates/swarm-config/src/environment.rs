//! The environment as the program handed it down: its variables and its working directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::ConfigError;

/// Variables that shell commands of agents get when they are set. Provider keys are not among them.
const PASSED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Variables of the model clients: keys, addresses, and the way there.
const PROVIDER: [&str; 11] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Variables that hold secrets, whatever a settings file says about passing them.
const SECRET: [&str; 3] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "OPENAI_API_KEY",
];

/// The variables of this process and its working directory.
#[derive(Debug, Clone)]
pub struct Environment {
    vars: BTreeMap<String, String>,
    /// The working directory.
    pub cwd: PathBuf,
}

impl Environment {
    /// These variables, in this directory.
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

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Every variable that is text.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let pair = |(name, value)| (String::as_str(name), String::as_str(value));
        self.vars.iter().map(pair)
    }

    /// Whether a variable holds a secret of ours.
    pub fn is_secret(name: &str) -> bool {
        SECRET.contains(&name)
    }

    /// The home directory.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// The root of all state.
    pub fn root(&self) -> Result<PathBuf, ConfigError> {
        if let Some(root) = self.get("CLAUDE_CONFIG_DIR") {
            return Ok(self.cwd.join(root));
        }
        let home = self.home().ok_or(ConfigError::NoRoot)?;
        Ok(home.join(".claude"))
    }

    /// What shell commands of agents get: the usual variables, those that the user lists, and those that a settings
    /// file gives. Keys of providers are left out, wherever they stand.
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

    /// What shell commands of agents get: the usual variables and those that the user lists.
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

    /// What our own git gets: the usual variables, and those with which a person tells git who they are and where its
    /// settings stand.
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

    /// What model clients get: their variables, else those of the same name that a settings file gives.
    pub fn provider_with(&self, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let value = |name: &str| self.vars.get(name).or_else(|| given.get(name)).cloned();
        PROVIDER
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), value(name)?)))
            .collect()
    }

    /// Whether output to a terminal may be coloured.
    pub fn color(&self, is_terminal: bool) -> bool {
        if self.get("NO_COLOR").is_some() {
            return false;
        }
        if self.get("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
            return true;
        }
        is_terminal && self.get("TERM") != Some("dumb")
    }

    /// A program on the PATH.
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

//! What the demo uses as a machine: a home, a config directory and a repository.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use swarm_os::{ensure_private_dir, replace_alone};

use crate::app::App;
use crate::failure::{Failure, Result};

/// Name of the demo's team.
pub(super) const TEAM: &str = "demo";

const SETTINGS: &str = include_str!("../../../../../config/demo/settings.json");
const GIT_CONFIG: &str = "[user]\n\tname = demo\n\temail = demo@localhost\n";

/// Directories that no other machine uses.
#[derive(Debug)]
pub(super) struct Machine {
    directory: PathBuf,
}

impl Machine {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Creates the directories and the settings.
    pub(super) fn set_up(&self, pace: f64, hub: Option<SocketAddr>) -> Result<()> {
        for name in [
            "",
            "root",
            "root/swarm",
            "root/swarm/hub",
            "root/teams",
            "home",
            "repo",
        ] {
            ensure_private_dir(&self.directory.join(name)).map_err(anyhow::Error::from)?;
        }
        let mut settings = format!("[scripted]\npace = {pace:?}\n");
        if let Some(hub) = hub {
            let credentials = self.credentials();
            let credentials = credentials.to_string_lossy();
            settings =
                format!("{settings}[hub]\nurl = \"nats://{hub}\"\ncredentials = {credentials:?}\n");
        }
        for (name, text) in [
            ("root/settings.json", SETTINGS),
            ("root/swarm.toml", &settings),
            ("home/.gitconfig", GIT_CONFIG),
        ] {
            replace_alone(&self.directory.join(name), text.as_bytes())
                .map_err(anyhow::Error::from)?;
        }
        Ok(())
    }

    pub(super) fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    pub(super) fn repo(&self) -> PathBuf {
        self.directory.join("repo")
    }

    /// Returns the file with the credentials of the hub.
    pub(super) fn credentials(&self) -> PathBuf {
        self.root().join("swarm/hub/credentials")
    }

    /// Returns the variables that make a program one of this machine.
    pub(super) fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("HOME", self.home()),
            ("CLAUDE_CONFIG_DIR", self.root()),
            // A member whose tmux server has just ended looks for another one.
            ("TMUX_TMPDIR", self.home()),
        ]
    }

    /// Returns a command that runs in the repository.
    pub(super) fn command(&self, app: &App, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repo())
            .env_clear()
            .envs(app.env.shell(&[]))
            .envs(self.variables())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs git in the repository.
    pub(super) fn git(&self, app: &App, words: &[&str]) -> Result<()> {
        let git = app.env.find_program("git").ok_or_else(|| {
            Failure::environment("git not found on the PATH")
                .with_hint("install git, for example with `apt-get install git`")
        })?;
        let done = self.command(app, &git).args(words).output()?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let message = format!("git {} failed: {}", words[0], said.trim());
        Err(Failure::environment(message))
    }
}

//! The demo's temporary config directory, home directory and repository with a failing test.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use swarm_os::process;
use swarm_os::{create_private_dir, ensure_private_dir, remove_tree, replace_alone};
use swarm_protocol::SpawnId;

use crate::app::App;
use crate::failure::Failure;

const FILES: [(&str, &str); 4] = [
    (
        "repo/README.md",
        include_str!("../../../../../config/demo/repo/README.md"),
    ),
    (
        "repo/src/total.sh",
        include_str!("../../../../../config/demo/repo/src/total.sh"),
    ),
    (
        "repo/tests/run.sh",
        include_str!("../../../../../config/demo/repo/tests/run.sh"),
    ),
    (
        "scenario.toml",
        include_str!("../../../../../config/demo/scenario.toml"),
    ),
];
/// How long the demo may take to stop gracefully after the terminal detaches.
const FAREWELL: Duration = Duration::from_secs(5);

const SETTINGS: &str = include_str!("../../../../../config/demo/settings.json");

/// A temporary directory, removed on drop unless it is kept.
#[derive(Debug)]
pub(super) struct Stage {
    directory: PathBuf,
    keep: bool,
}

impl Stage {
    /// Creates the directory and checks that the test fails.
    pub(super) fn build(app: &App, pace: f64, keep: bool) -> Result<Self, Failure> {
        let base = app.env.get("TMPDIR").unwrap_or("/tmp");
        let unique = SpawnId::random().uuid().simple().to_string();
        let directory = Path::new(base).join(format!("swarm-demo-{}", &unique[..8]));
        create_private_dir(&directory).map_err(anyhow::Error::from)?;
        let stage = Self { directory, keep };
        for name in [
            "root",
            "root/teams",
            "home",
            "repo",
            "repo/src",
            "repo/tests",
        ] {
            ensure_private_dir(&stage.directory.join(name)).map_err(anyhow::Error::from)?;
        }
        for (name, text) in FILES {
            replace_alone(&stage.directory.join(name), text.as_bytes())
                .map_err(anyhow::Error::from)?;
        }
        let settings = format!("[scripted]\npace = {pace:?}\n");
        for (name, text) in [
            ("root/settings.json", SETTINGS),
            ("root/swarm.toml", &settings),
        ] {
            replace_alone(&stage.directory.join(name), text.as_bytes())
                .map_err(anyhow::Error::from)?;
        }
        stage.make_repository(app)?;
        Ok(stage)
    }

    fn make_repository(&self, app: &App) -> Result<(), Failure> {
        for name in ["repo/src/total.sh", "repo/tests/run.sh"] {
            std::fs::set_permissions(
                self.directory.join(name),
                std::fs::Permissions::from_mode(0o755),
            )?;
        }
        let git = app.env.find_program("git").ok_or_else(|| {
            Failure::environment("git not found on the PATH")
                .with_hint("install git, for example with `apt-get install git`")
        })?;
        let steps: [&[&str]; 5] = [
            &["init", "--quiet", "--initial-branch=main"],
            &["config", "user.name", "demo"],
            &["config", "user.email", "demo@localhost"],
            &["add", "."],
            &["commit", "--quiet", "--message=A bill and its cases"],
        ];
        for step in steps {
            let mut command = self.command(app, &git);
            let done = command.args(step).stdin(Stdio::null()).output()?;
            if !done.status.success() {
                let words = String::from_utf8_lossy(&done.stderr);
                let message = format!("git {} failed: {}", step[0], words.trim());
                return Err(Failure::environment(message));
            }
        }
        Ok(())
    }

    /// Returns a command that runs in the repository, with the home and config directories of the
    /// demo.
    pub(super) fn command(&self, app: &App, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.repo())
            .env_clear()
            .envs(app.env.shell(&[]))
            .env("HOME", self.home())
            .env("CLAUDE_CONFIG_DIR", self.root())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Stops every process of the demo so that the directory can be removed. A lead whose pane was
    /// closed stops its team gracefully, which takes a moment.
    pub(super) async fn end_processes(&self) {
        let home = self.home().display().to_string();
        let ended = process::end_marked("HOME", &home, FAREWELL).await;
        if ended.left > 0 {
            tracing::warn!(left = ended.left, "demo processes are still running");
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
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

    pub(super) fn scenario(&self) -> PathBuf {
        self.directory.join("scenario.toml")
    }

    pub(super) fn report(&self) -> PathBuf {
        self.directory.join("report.json")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.directory.join("tmux")
    }

    /// Returns the output of the repository's test and whether it passes.
    pub(super) fn run_test(&self, app: &App) -> Result<(String, bool), Failure> {
        let mut command = self.command(app, Path::new("sh"));
        let done = command.arg("tests/run.sh").stdin(Stdio::null()).output()?;
        Ok((
            String::from_utf8_lossy(&done.stdout).into_owned(),
            done.status.success(),
        ))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = remove_tree(&self.directory)
        {
            tracing::warn!(%error, "demo directory not removed");
        }
    }
}

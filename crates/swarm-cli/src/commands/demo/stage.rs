//! The demo's temporary directory: a repository with a failing test, and one machine or two.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use swarm_os::process;
use swarm_os::{create_private_dir, ensure_private_dir, remove_tree, replace_alone};
use swarm_protocol::SpawnId;

use super::machine::Machine;
use crate::app::App;
use crate::failure::Result;

const FILES: [(&str, &str, u32); 3] = [
    (
        "README.md",
        include_str!("../../../../../config/demo/repo/README.md"),
        0o644,
    ),
    (
        "src/total.sh",
        include_str!("../../../../../config/demo/repo/src/total.sh"),
        0o755,
    ),
    (
        "tests/run.sh",
        include_str!("../../../../../config/demo/repo/tests/run.sh"),
        0o755,
    ),
];
const SCENARIO: &str = include_str!("../../../../../config/demo/scenario.toml");
const HUB_SCENARIO: &str = include_str!("../../../../../config/demo/hub.toml");

/// How long the demo may take to stop gracefully after the terminal detaches.
const FAREWELL: Duration = Duration::from_secs(5);

/// A temporary directory, removed on drop unless it is kept.
#[derive(Debug)]
pub(super) struct Stage {
    directory: PathBuf,
    /// The machine of the person and the lead.
    pub(super) first: Machine,
    /// The machine of the node, in a demo with a hub.
    pub(super) second: Option<Machine>,
    keep: bool,
}

impl Stage {
    /// Creates the directory, with a second machine if there is a hub.
    pub(super) fn build(app: &App, pace: f64, keep: bool, hub: Option<SocketAddr>) -> Result<Self> {
        let base = app.env.get("TMPDIR").unwrap_or("/tmp");
        let unique = SpawnId::random().uuid().simple().to_string();
        let directory = Path::new(base).join(format!("swarm-demo-{}", &unique[..8]));
        create_private_dir(&directory).map_err(anyhow::Error::from)?;
        let stage = Self {
            first: Machine::new(directory.clone()),
            second: hub.map(|_| Machine::new(directory.join("box"))),
            directory,
            keep,
        };
        for machine in stage.machines() {
            machine.set_up(pace, hub)?;
        }
        let scenario = match hub {
            None => SCENARIO,
            Some(_) => HUB_SCENARIO,
        };
        replace_alone(&stage.scenario(), scenario.as_bytes()).map_err(anyhow::Error::from)?;
        stage.make_repository(app)?;
        Ok(stage)
    }

    fn machines(&self) -> impl Iterator<Item = &Machine> {
        std::iter::once(&self.first).chain(&self.second)
    }

    fn make_repository(&self, app: &App) -> Result<()> {
        let repo = self.first.repo();
        for name in ["src", "tests"] {
            ensure_private_dir(&repo.join(name)).map_err(anyhow::Error::from)?;
        }
        for (name, text, mode) in FILES {
            let path = repo.join(name);
            replace_alone(&path, text.as_bytes()).map_err(anyhow::Error::from)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
        }
        let steps: [&[&str]; 3] = [
            &["init", "--quiet", "--initial-branch=main"],
            &["add", "."],
            &["commit", "--quiet", "--message=A bill and its cases"],
        ];
        for step in steps {
            self.first.git(app, step)?;
        }
        Ok(())
    }

    /// Stops every process of the demo so that the directory can be removed. A lead whose pane was
    /// closed stops its team gracefully, which takes a moment.
    pub(super) async fn end_processes(&self) {
        for machine in self.machines() {
            let home = machine.home().display().to_string();
            let ended = process::end_marked("HOME", &home, FAREWELL).await;
            if ended.left > 0 {
                tracing::warn!(left = ended.left, "demo processes are still running");
            }
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
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
    pub(super) fn run_test(&self, app: &App) -> Result<(String, bool)> {
        let mut command = self.first.command(app, Path::new("sh"));
        let done = command.arg("tests/run.sh").output()?;
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

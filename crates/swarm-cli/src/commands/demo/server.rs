//! The tmux server of the demo, on a socket in its temporary directory.

use std::ffi::OsString;
use std::future::pending;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use swarm_os::process::Process;
use swarm_panes::TmuxBackend;

use super::stage::Stage;
use crate::app::App;
use crate::commands::runtime;
use crate::failure::Failure;

/// Columns and rows of the window while no terminal is attached.
const COLUMNS: &str = "176";
const ROWS: &str = "44";

/// A running server whose first pane is the lead's. Stopped on drop.
#[derive(Debug)]
pub(super) struct DemoServer {
    program: PathBuf,
    socket: PathBuf,
    pub(super) lead_pane: String,
    pid: String,
}

impl DemoServer {
    /// Starts the server with `swarm run` in its first pane.
    pub(super) fn start(app: &App, stage: &Stage, lead: &[OsString]) -> Result<Self, Failure> {
        let program = app.env.find_program("tmux").ok_or_else(|| {
            Failure::environment("tmux not found on the PATH")
                .with_hint("install tmux, for example with `apt-get install tmux`")
        })?;
        runtime()?.block_on(swarm_panes::check_tmux(&program))?;
        // Panes inherit the environment of the server, whichever client creates them.
        let mut command = stage.command(app, &program);
        command
            .arg("-S")
            .arg(stage.socket())
            .args(["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", COLUMNS, "-y", ROWS, "-s", "swarm-demo", "-n", "team"]);
        command
            .args(["-P", "-F", "#{pane_id} #{pid}", "-c"])
            .arg(stage.repo());
        command.arg("--").args(lead);
        for name in ["NO_COLOR", "COLORTERM"] {
            if let Some(value) = app.env.get(name) {
                command.env(name, value);
            }
        }
        let started = command.stdin(Stdio::null()).output()?;
        if !started.status.success() {
            let words = String::from_utf8_lossy(&started.stderr);
            let message = format!("tmux did not start: {}", words.trim());
            return Err(Failure::environment(message));
        }
        let answer = String::from_utf8_lossy(&started.stdout).into_owned();
        let (lead_pane, pid) = answer
            .trim()
            .split_once(' ')
            .ok_or_else(|| Failure::environment(format!("tmux answered `{}`", answer.trim())))?;
        let server = Self {
            program,
            socket: stage.socket(),
            lead_pane: lead_pane.to_owned(),
            pid: pid.to_owned(),
        };
        for (name, value) in [
            ("status-style", "bg=default,fg=colour244"),
            ("status-right", ""),
            ("status-right-length", "40"),
            ("mouse", "on"),
        ] {
            server.tmux(&["set-option", "-g", name, value])?;
        }
        Ok(server)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("-S")
            .arg(&self.socket)
            .env_remove("TMUX")
            .env_remove("TMUX_PANE");
        command
    }

    fn tmux(&self, args: &[&str]) -> Result<(), Failure> {
        self.command()
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(())
    }

    pub(super) async fn ended(&self) {
        let server = self.pid.parse().ok().and_then(Process::running);
        if let Some(server) = server
            && let Err(error) = server.ended().await
        {
            tracing::debug!(%error, "the end of the tmux server is not noticed");
            pending::<()>().await;
        }
    }

    /// Shows a text in the status line.
    pub(super) fn show(&self, text: &str) {
        let text = text.replace('#', "##");
        self.try_tmux(&["set-option", "-g", "status-right", &text]);
    }

    /// Shows the window of a pane.
    pub(super) fn select(&self, pane: &str) {
        self.try_tmux(&["select-window", "-t", pane]);
    }

    /// Runs a tmux command that is not essential. It fails when the server has ended.
    fn try_tmux(&self, args: &[&str]) {
        if let Err(failure) = self.tmux(args) {
            tracing::debug!(message = failure.message, "tmux command not run");
        }
    }

    /// Attaches this terminal until the session ends or the person detaches.
    pub(super) async fn attach(&self) -> Result<(), Failure> {
        let mut command = self.command();
        command.args(["attach-session", "-t", "swarm-demo"]);
        tokio::process::Command::from(command).status().await?;
        Ok(())
    }

    /// Returns the panes as they are displayed.
    pub(super) fn backend(&self) -> Result<TmuxBackend, Failure> {
        let place = swarm_panes::PanePlacement::default();
        Ok(TmuxBackend::inside(
            self.program.clone(),
            &self.address(),
            &self.lead_pane,
            place,
        )?)
    }

    /// The variables of a program in the lead's pane.
    pub(super) fn variables(&self) -> [(&'static str, String); 2] {
        [
            ("TMUX", self.address()),
            ("TMUX_PANE", self.lead_pane.clone()),
        ]
    }

    fn address(&self) -> String {
        format!("{},{},0", self.socket.display(), self.pid)
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        // The server exits with its last pane, so this may fail.
        self.try_tmux(&["kill-server"]);
    }
}
